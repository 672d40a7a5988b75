package live

import (
	"bytes"
	"cmp"
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

// asset serves the page, or the file of the page that the path names. A browser asks for a file
// each time, and gets its content only once from the same build.
func asset(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(r.PathValue("file"), "index.html")
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
}
