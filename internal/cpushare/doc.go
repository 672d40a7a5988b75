// Package cpushare is for tests that fail when other programs use the processors, as tests of a sampler do:
//
//	func TestSplit_CPUShare(t *testing.T) {
//		cpushare.Check(t, func() error {
//			got, want := …
//			if math.Abs(got-want) > 0.05 {
//				return fmt.Errorf("the share is %.2f, want %.2f", got, want)
//			}
//			return nil
//		})
//	}
//
// [Check] measures the machine first, and skips the test on a busy one. The names of such tests end in _CPUShare: part shares of
// .ci/run finds them by this, and runs them on a machine that does nothing else. Other parts of such a test belong into a test
// without the suffix.
package cpushare
