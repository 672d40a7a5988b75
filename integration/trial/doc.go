// Package trial is what the commands that try perfline as a whole are made of:
// a service in a process of its own, a steady load on it, and a proxy between it
// and a backend that fails as it is told to.
//
//	func main() {
//		trial.Main() // first: the service is this program again
//		…
//		p, err := trial.NewProxy(ctx, jaegersAddress)
//		s, err := trial.StartService(ctx, trial.ServiceConfig{
//			Env: []string{"OTEL_SERVICE_NAME=trial", "OTEL_EXPORTER_OTLP_ENDPOINT=" + p.URL()},
//		})
//		l := trial.StartLoad(s.URL(), 200)
//		p.Set(trial.Mode{Kind: trial.Hang})
//		results := l.Take()          // of the requests since the last Take
//		account, err := s.Account(ctx) // what it has used, and its pipeline's counts
//		l.Stop()
//		err = account.Balanced()       // accepted is delivered, lost and pending, at any time
//		final, err := s.Terminate(ctx) // SIGTERM, and its last account
//		…
//	}
//
// The service answers GET /task: a server span, [Measures] measures in it, each of
// which perfline makes a span, and [Marks] marks, for some tens of microseconds of
// CPU. With [None] there are none.
//
// A load is open: requests are sent at times that are fixed beforehand, whether
// those before were answered or not, and a latency counts from when the request was
// due. What the service or the machine is late with is in the latencies.
package trial
