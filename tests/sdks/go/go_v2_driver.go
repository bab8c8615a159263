// Plays sequences through the AWS SDK for Go v2 and says what it did; ../README.md describes what is
// read and written. Replaced: the HTTP transport, the SDK's clock and sleep, its random source.
//
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

//go:linkname sdkReader github.com/aws/aws-sdk-go-v2/internal/rand.Reader
var sdkReader io.Reader

//go:linkname sdkNow github.com/aws/aws-sdk-go-v2/internal/sdk.NowTime
var sdkNow func() time.Time

//go:linkname sdkSleep github.com/aws/aws-sdk-go-v2/internal/sdk.SleepWithContext
var sdkSleep func(context.Context, time.Duration) error

// Read gives the SDK, which draws an integer below 2^53, the bytes of the draw.
func (w *world) Read(bytes []byte) (int, error) {
	bits := w.numerator(1 << 53)
	for i := range bytes {
		bytes[len(bytes)-1-i] = byte(bits >> (8 * i))
	}
	return len(bytes), nil
}

// sleepAs tells a wait for send tokens from the delay before a retry, by who asks.
func (w *world) sleepAs(_ context.Context, d time.Duration) error {
	caller, _, _, _ := runtime.Caller(1)
	if strings.HasSuffix(runtime.FuncForPC(caller).Name(), ".GetAttemptToken") {
		w.wait(d)
	} else {
		w.sleep(d)
	}
	return nil
}

// operation makes the client of a service; the function makes a call.
func operation(config aws.Config, service string) (interface{}, func() error) {
	ctx := context.Background()
	switch service {
	case "dynamodb":
		c := dynamodb.NewFromConfig(config)
		return c, func() error { _, err := c.ListTables(ctx, &dynamodb.ListTablesInput{}); return err }
	case "kinesis":
		c := kinesis.NewFromConfig(config)
		return c, func() error { _, err := c.ListStreams(ctx, &kinesis.ListStreamsInput{}); return err }
	case "sqs":
		c := sqs.NewFromConfig(config)
		return c, func() error { _, err := c.ListQueues(ctx, &sqs.ListQueuesInput{}); return err }
	case "sts":
		c := sts.NewFromConfig(config)
		return c, func() error {
			_, err := c.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
			return err
		}
	}
	panic("unknown service " + service)
}

// field finds a field by its name in a structure and in what it points to.
func field(v reflect.Value, name string) reflect.Value {
	switch v.Kind() {
	case reflect.Ptr, reflect.Interface:
		return field(v.Elem(), name)
	case reflect.Struct:
		if found := v.FieldByName(name); found.IsValid() && found.Kind() != reflect.Func {
			return found
		}
		for i := 0; i < v.NumField(); i++ {
			if found := field(v.Field(i), name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// stateOf reads the quota and the rates of a client's own retryer.
func stateOf(client interface{}) func(*attempt) {
	retryer := field(reflect.ValueOf(client).Elem().FieldByName("options"), "Retryer")
	bucket := field(retryer, "bucket")
	limit := field(retryer, "rateLimit")
	return func(last *attempt) {
		quota := bucket.Elem().FieldByName("remainingTokens").Uint()
		last.Quota = &quota
		if limit.IsValid() {
			measured := limit.Elem().FieldByName("measuredTxRate").Float()
			fill := limit.Elem().FieldByName("fillRate").Float()
			last.MeasuredRate, last.FillRate = &measured, &fill
		}
	}
}

func play(s *sequence) []outcome {
	w := &world{}
	sdkReader, sdkNow, sdkSleep = w, w.time, w.sleepAs
	config := aws.Config{
		Region:     "us-east-1",
		HTTPClient: &http.Client{Transport: w},
		RetryMode:  aws.RetryMode(s.Mode),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "key"}, nil
		}),
	}
	if s.MaxAttempts != nil {
		config.RetryMaxAttempts = *s.MaxAttempts
	}
	client, do := operation(config, s.Service)
	w.describe = stateOf(client)
	outcomes := []outcome{}
	for _, call := range s.Calls {
		outcomes = append(outcomes, w.call(call.Pause, call.Answers, do))
	}
	return outcomes
}

func main() { run("go-v2", aws.SDKVersion, play) }
