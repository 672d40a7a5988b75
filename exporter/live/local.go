package live

import (
	"net/http"

	"github.com/perfline/perfline/internal/guard"
)

// Local is why r does not come from this machine, nil if it does: what a Config without
// Authorize asks. It is for an Authorize that lets in others as well, and for other handlers
// that show what goes on inside the program. A request comes from this machine when
//
//   - its connection does: from a loopback address, not from a Unix socket,
//   - its Host header is localhost or a loopback address, as a page whose name was made to resolve to this
//     machine (DNS rebinding) has another one,
//   - and no header says that a proxy asks for somebody else: X-Forwarded-For and others.
//
// The error's text is for who asks. Local does not look at which page a browser asks for: a
// handler of this package or of profiling/service does, for others see http.CrossOriginProtection.
func Local(r *http.Request) error { return guard.Local(r) }
