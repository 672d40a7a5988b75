// Package cpushare helps tests of the laboratory that fail when other programs use the processors.
// Tests of a sampler are an example:
//
//	//go:build lab
//
//	func TestLabSplit(t *testing.T) {
//		cpushare.Check(t, func() error {
//			got, want := …
//			if math.Abs(got-want) > 0.05 {
//				return fmt.Errorf("the share is %.2f, want %.2f", got, want)
//			}
//			return nil
//		})
//	}
//
// [Check] first measures the machine, and skips the test on a busy machine.
package cpushare
