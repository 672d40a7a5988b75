package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"time"

	"github.com/perfline/perfline/live/internal/view"
)

// contentTypes are the page's: a system's own table may say anything.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// asset serves a file of the page. A browser asks for the file each time, and gets the content only
// once from the same build.
func asset(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := files.ReadFile("page/" + name)
		if err != nil {
			refuse(w, http.StatusNotFound, "the page has no file "+view.Shown(name))
			return
		}
		sum := sha256.Sum256(content)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:8])+`"`)
		w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
