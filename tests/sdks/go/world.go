// What the SDKs for Go are told about time and chance, and how a driver reads and writes.
//
// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

const startSeconds = 1000

type answer struct {
	Status    int
	Headers   map[string]string
	Body      string
	Transport string
	Takes     int64
	Draw      float64
}

type sequence struct {
	Mode        string
	Service     string
	MaxAttempts *int `json:"max_attempts"`
	Calls       []struct {
		Pause   int64
		Answers []answer
	}
}

// attempt is what the SDK did; Delay in seconds.
type attempt struct {
	Sent         int64    `json:"sent"`
	Waited       float64  `json:"waited"`
	Delay        *float64 `json:"delay"`
	Quota        *uint64  `json:"quota,omitempty"`
	MeasuredRate *float64 `json:"measured_rate,omitempty"`
	FillRate     *float64 `json:"fill_rate,omitempty"`
}

type outcome struct {
	Succeeded bool      `json:"succeeded"`
	Ended     int64     `json:"ended"`
	Attempts  []attempt `json:"attempts"`
}

// world is the HTTP transport, the clock and the random numbers of one client.
type world struct {
	now      int64 // nanoseconds
	draw     float64
	slept    []time.Duration
	waited   time.Duration
	answers  []answer
	attempts []attempt
	describe func(*attempt) // adds the client's state
}

func (w *world) time() time.Time { return time.Unix(startSeconds, w.now) }

func (w *world) sleep(d time.Duration) {
	w.slept = append(w.slept, d)
	if d > 0 {
		w.now += int64(d)
	}
}

// wait for send tokens, by at least a nanosecond.
func (w *world) wait(d time.Duration) {
	if d < 1 {
		d = 1
	}
	w.waited += d
	w.now += int64(d)
}

func (w *world) describeLast() {
	if len(w.attempts) == 0 {
		return
	}
	last := &w.attempts[len(w.attempts)-1]
	if len(w.slept) > 1 {
		panic("more than one sleep between two attempts")
	}
	if len(w.slept) == 1 {
		seconds := w.slept[0].Seconds()
		last.Delay = &seconds
		w.slept = nil
	}
	w.describe(last)
}

// RoundTrip answers what the sequence says.
func (w *world) RoundTrip(request *http.Request) (*http.Response, error) {
	w.describeLast()
	w.attempts = append(w.attempts, attempt{Sent: w.now, Waited: w.waited.Seconds()})
	w.waited = 0
	next := w.answers[0]
	w.answers = w.answers[1:]
	w.now += next.Takes
	w.draw = next.Draw
	if next.Transport != "" {
		return nil, transportError(next.Transport)
	}
	response := &http.Response{
		StatusCode: next.Status, Status: fmt.Sprint(next.Status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(next.Body)),
		ContentLength: int64(len(next.Body)), Request: request,
	}
	for name, value := range next.Headers {
		response.Header.Set(name, value)
	}
	return response, nil
}

// timeoutError is what Go's client reports of an answer that does not come.
type timeoutError struct{}

func (timeoutError) Error() string   { return "net/http: timeout awaiting response headers" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// Errors as Go's own transport reports them.
func transportError(transport string) error {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443}
	switch transport {
	case "refused":
		return &net.OpError{Op: "dial", Net: "tcp", Addr: address,
			Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case "reset":
		return &net.OpError{Op: "read", Net: "tcp", Addr: address,
			Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case "timeout":
		return timeoutError{}
	case "connect-timeout":
		return &net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: timeoutError{}}
	}
	panic("unknown transport error " + transport)
}

// call plays one call of a sequence.
func (w *world) call(pause int64, answers []answer, do func() error) outcome {
	w.now += pause
	w.slept, w.waited, w.attempts, w.answers = nil, 0, nil, answers
	err := do()
	w.describeLast()
	if err != nil && os.Getenv("DEBUG_SDKS") != "" {
		fmt.Fprintln(os.Stderr, err)
	}
	return outcome{Succeeded: err == nil, Ended: w.now, Attempts: w.attempts}
}

// numerator is the draw as a whole number of 1/n.
func (w *world) numerator(n int64) int64 { return int64(math.Round(w.draw * float64(n))) }

// run reads sequences from standard input, one a line, and writes what play makes of each.
func run(sdk, version string, play func(*sequence) []outcome) {
	for _, variable := range os.Environ() {
		if name := strings.SplitN(variable, "=", 2)[0]; strings.HasPrefix(name, "AWS_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("AWS_CONFIG_FILE", os.DevNull)
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	write := func(value interface{}) {
		if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
			panic(err)
		}
	}
	write(map[string]string{"sdk": sdk, "version": version})
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var s sequence
		if err == nil {
			err = json.Unmarshal(line, &s)
		}
		if err != nil {
			panic(err)
		}
		write(map[string][]outcome{"calls": play(&s)})
	}
}
