// Plays sequences through the AWS SDK for Go v1 and says what it did; ../README.md describes what is
// read and written. Replaced: the HTTP transport, the SDK's sleep function and its random source.
//
// SPDX-License-Identifier: MIT

package main

import (
	"math/rand"
	"net/http"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/client"
	"github.com/aws/aws-sdk-go/aws/credentials"
	"github.com/aws/aws-sdk-go/aws/request"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/dynamodb"
	"github.com/aws/aws-sdk-go/service/kinesis"
	"github.com/aws/aws-sdk-go/service/sqs"
	"github.com/aws/aws-sdk-go/service/sts"
)

//go:linkname seededRand github.com/aws/aws-sdk-go/internal/sdkrand.SeededRand
var seededRand *rand.Rand

// source gives the SDK the draw of the sequence. Of the integers that the SDK draws from [0, n), it
// must know the n: the base of the delay, or half of the longest delay if the SDK draws again.
type source struct {
	*world
	service string
	request *request.Request
	drawn   int
}

func (s *source) Seed(int64) {}

func (s *source) Int63() int64 {
	s.drawn++
	n := client.DefaultRetryerMinRetryDelay
	if s.service == "dynamodb" {
		n = 50 * time.Millisecond
	}
	if s.request.IsErrorThrottle() {
		n = client.DefaultRetryerMinThrottleDelay
	}
	if s.drawn > 1 {
		n = client.DefaultRetryerMaxRetryDelay / 2
	}
	return s.numerator(int64(n))
}

// operation makes the client of a service; what it returns makes a call.
func operation(s *session.Session, service string) (*client.Client, func() error) {
	switch service {
	case "dynamodb":
		c := dynamodb.New(s)
		return c.Client, func() error { _, err := c.ListTables(&dynamodb.ListTablesInput{}); return err }
	case "kinesis":
		c := kinesis.New(s)
		return c.Client, func() error { _, err := c.ListStreams(&kinesis.ListStreamsInput{}); return err }
	case "sqs":
		c := sqs.New(s)
		return c.Client, func() error { _, err := c.ListQueues(&sqs.ListQueuesInput{}); return err }
	case "sts":
		c := sts.New(s)
		return c.Client, func() error {
			_, err := c.GetCallerIdentity(&sts.GetCallerIdentityInput{})
			return err
		}
	}
	panic("unknown service " + service)
}

func play(s *sequence) []outcome {
	w := &world{describe: func(*attempt) {}}
	config := aws.NewConfig().WithRegion("us-east-1").
		WithCredentials(credentials.NewStaticCredentials("id", "key", "")).
		WithSleepDelay(w.sleep)
	config.HTTPClient = &http.Client{Transport: w}
	if s.MaxAttempts != nil {
		config.WithMaxRetries(*s.MaxAttempts - 1)
	}
	c, do := operation(session.Must(session.NewSession(config)), s.Service)
	draws := &source{world: w, service: s.Service}
	seededRand = rand.New(draws)
	c.Handlers.AfterRetry.PushFront(func(r *request.Request) { draws.request, draws.drawn = r, 0 })
	outcomes := []outcome{}
	for _, call := range s.Calls {
		outcomes = append(outcomes, w.call(call.Pause, call.Answers, do))
	}
	return outcomes
}

func main() { run("go-v1", aws.SDKVersion, play) }
