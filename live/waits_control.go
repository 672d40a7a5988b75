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

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

const (
	maxArms    = 10      // in a minute
	maxArmBody = 1 << 10 // bytes
)

// A waitsState is how the flight recorder is doing. Without a recorder, it has the status "none"
// only.
type waitsState struct {
	Status string `json:"status"` // a waits.Status, or "none"
	// when armed or paused ends, since the epoch; 0 for no end
	Until float64 `json:"until,omitempty"`
	// armed: a slow request armed it; disarmed: the next slow request will
	Auto   bool   `json:"auto,omitempty"`
	Reason string `json:"reason,omitempty"` // a sentence without its period
	// why this client may not arm and disarm it, and what to do
	Refused string  `json:"refused,omitempty"`
	Results uint64  `json:"results"` // requests that it has results of
	Pending uint64  `json:"pending"` // slow requests whose results may come
	Armed   float64 `json:"armed"`   // for how long in all
}

var errNoWaits = errors.New("this program has no flight recorder")

func (h *handler) waitsState() waitsState {
	if h.waitsRecorder == nil {
		return waitsState{Status: "none"}
	}
	s, stats := h.waitsRecorder.State(), h.waitsRecorder.Stats()
	f := waitsState{Status: string(s.Status), Auto: s.Auto, Reason: shown(s.Reason),
		Results: stats.Results, Pending: stats.Pending}
	if !s.Until.IsZero() {
		f.Until = sinceEpoch(s.Until)
	}
	if s.Status != waits.Armed { // while it is armed, the page would change all the time
		f.Armed = observer.Milliseconds(stats.Armed)
	}
	if err := h.refused(); err != nil {
		f.Refused = err.Error()
	}
	return f
}

// arm arms the recorder. The body is {"length": milliseconds}; 0 means until it is disarmed.
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
	if given < 0 || given > observer.Milliseconds(longest) || given > 0 && length < shortest {
		refuse(w, http.StatusBadRequest,
			fmt.Sprintf("length %g: must be 0, which means until it is disarmed, or from %g to %g milliseconds",
				given, observer.Milliseconds(shortest), observer.Milliseconds(longest)))
		return
	}
	if wait := h.arms.Take(time.Now()); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait/time.Second)+1))
		refuse(w, http.StatusTooManyRequests,
			fmt.Sprintf("the recorder may be armed %d times in a minute: try again in %v", maxArms,
				wait.Round(time.Second)))
		return
	}
	switch err := h.waitsRecorder.Arm(length); {
	case errors.Is(err, waits.ErrInUse):
		refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		refuse(w, http.StatusForbidden, err.Error())
	default:
		h.logger.Info("perfline: a client of the live page armed the flight recorder", "client",
			shown(r.RemoteAddr), "for", length)
		answer(w, h.waitsState())
	}
}

// disarm disarms the recorder. The body is {}.
func (h *handler) disarm(w http.ResponseWriter, r *http.Request) {
	if !h.mayControl(w, r, &struct{}{}) {
		return
	}
	h.waitsRecorder.Disarm()
	h.logger.Info("perfline: a client of the live page disarmed the flight recorder", "client",
		shown(r.RemoteAddr))
	answer(w, h.waitsState())
}

// mayControl decodes the body of a request that changes the recorder. It answers itself if the
// client may not, and returns false.
func (h *handler) mayControl(w http.ResponseWriter, r *http.Request, argument any) bool {
	if h.waitsRecorder == nil {
		refuse(w, http.StatusNotFound, errNoWaits.Error())
		return false
	}
	if err := h.refused(); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return false
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type "+
			shown(r.Header.Get("Content-Type"))+": must be application/json")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArmBody))
	if err == nil {
		err = decode(body, argument)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, shown(err.Error()))
		return false
	}
	return true
}

// decode decodes the one object of a body. Fields that are not known are errors: a name that is
// written wrong must not mean the default.
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
