// Package cpushare is for tests of the laboratory that fail when other programs use the processors,
// as tests of a sampler do:
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
// [Check] measures the machine first, and skips the test on a busy one.
package cpushare
