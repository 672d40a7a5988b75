package adapter

import "reflect"

// Plain returns a copy of what a protobuf library has decoded, without the library's own fields. Tests compare messages by
// reflection with others that never were decoded.
func Plain[T any](decoded T) T {
	return plain(reflect.ValueOf(&decoded).Elem()).Interface().(T)
}

func plain(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		to.Set(reflect.New(v.Type().Elem()))
		to.Elem().Set(plain(v.Elem()))
	case v.Kind() == reflect.Interface && !v.IsNil():
		to.Set(plain(v.Elem()))
	case v.Kind() == reflect.Slice && !v.IsNil():
		to.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			to.Index(i).Set(plain(v.Index(i)))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				to.Field(i).Set(plain(v.Field(i)))
			}
		}
	default:
		to.Set(v)
	}
	return to
}
