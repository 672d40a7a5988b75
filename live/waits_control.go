package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/waits"
)

const (
	maxArms    = 10      // in a minute
	maxArmBody = 1 << 10 // bytes
)

func (h *handler) waitsState() view.WaitsState {
	return view.NewWaitsState(h.waitsRecorder, h.checkSessions())
}

// arm arms the waits recorder. The body is {"length": milliseconds}; 0 means until disarm.
func (h *handler) arm(w http.ResponseWriter, r *http.Request) {
	var argument struct {
		Length *float64 `json:"length"`
	}
	if !h.mayControl(w, r, &argument) {
		return
	}
	const shortest, longest = time.Nanosecond, 24 * time.Hour
	if argument.Length == nil {
		refuse(w, http.StatusBadRequest,
			"length: must be given, in milliseconds; 0 means until it is disarmed")
		return
	}
	given := *argument.Length
	length := time.Duration(given * float64(time.Millisecond))
	if given < 0 || given > record.Milliseconds(longest) || given > 0 && length < shortest {
		refuse(w, http.StatusBadRequest,
			fmt.Sprintf("length %g: must be 0, which means until it is disarmed, or from %g to %g milliseconds",
				given, record.Milliseconds(shortest), record.Milliseconds(longest)))
		return
	}
	if wait := h.arms.Take(time.Now()); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait/time.Second)+1))
		refuse(w, http.StatusTooManyRequests,
			fmt.Sprintf("the waits recorder may be armed %d times in a minute: try again in %v",
				maxArms, wait.Round(time.Second)))
		return
	}
	switch err := h.waitsRecorder.Arm(length); {
	case errors.Is(err, waits.ErrInUse):
		refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		refuse(w, http.StatusForbidden, err.Error())
	default:
		h.logger.Info("perfline: a client of the live page armed the waits recorder",
			"client", view.Shown(r.RemoteAddr), "for", length)
		answer(w, h.waitsState())
	}
}

// disarm disarms the waits recorder. The body is {}.
func (h *handler) disarm(w http.ResponseWriter, r *http.Request) {
	if !h.mayControl(w, r, &struct{}{}) {
		return
	}
	h.waitsRecorder.Disarm()
	h.logger.Info("perfline: a client of the live page disarmed the waits recorder",
		"client", view.Shown(r.RemoteAddr))
	answer(w, h.waitsState())
}

// mayControl decodes the body of a request that changes the waits recorder. If the client may not
// change the recorder, mayControl answers with the reason and returns false.
func (h *handler) mayControl(w http.ResponseWriter, r *http.Request, argument any) bool {
	if h.waitsRecorder == nil {
		refuse(w, http.StatusNotFound, "this program has no waits recorder")
		return false
	}
	if err := h.checkSessions(); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return false
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type "+
			view.Shown(r.Header.Get("Content-Type"))+": must be application/json")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArmBody))
	if err == nil {
		err = decode(body, argument)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, view.Shown(err.Error()))
		return false
	}
	return true
}

// decode decodes a body of one object. An unknown field is an error, since a misspelt name must not
// mean the default.
func decode(body []byte, to any) error {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return errors.New("the body must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body must be one JSON object")
	}
	return nil
}
