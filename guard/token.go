package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

var (
	errNoToken    = errors.New("the token is missing or wrong") // makes a browser ask for the token
	errEmptyToken = errors.New("the program's token is empty: no client is allowed")
)

// Token returns a function for [Guard].Authorize. The function allows only clients that send the
// secret token. Use a token for a page in a container or for a team:
//
//	token := guard.Token(os.Getenv("PERFLINE_TOKEN"))
//	live.Handler(pl, live.Config{Data: guard.Everything, Authorize: token})
//
// A browser prompts for a user and a password. The password is the token, and the user may be any
// text. Other clients send the header "Authorization: Bearer TOKEN". Use TLS. Without TLS, other
// machines on the network can read the token. An empty token allows no client.
func Token(token string) func(*http.Request) error {
	want := sha256.Sum256([]byte(token)) // a comparison of hashes does not leak the token's length
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
