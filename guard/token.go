package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// errNoToken makes a browser ask for the token.
var errNoToken = errors.New("the token is missing or wrong")

var errEmptyToken = errors.New("the program's token is empty: no client is allowed")

// Token returns an Authorize function for clients that know a secret: a page in a container, or for
// a team.
//
//	live.Handler(pl, live.Config{Data: guard.Everything, Authorize: guard.Token(os.Getenv("PERFLINE_TOKEN"))})
//
// Browsers ask for a user and a password: the password is the token, and the user does not count.
// Other clients send the header "Authorization: Bearer" with the token. Without TLS, the token is
// readable on the network. An empty token allows no client.
func Token(token string) func(*http.Request) error {
	want := sha256.Sum256([]byte(token)) // so that a comparison takes the same time for all lengths
	return func(r *http.Request) error {
		if token == "" {
			return errEmptyToken
		}
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			_, given, _ = r.BasicAuth()
		}
		got := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return errNoToken
		}
		return nil
	}
}
