// PLANT_STORE_ACCESS_TOKEN=pst_… go run examples/go/one_plant.go http://127.0.0.1:3000
// Creates one plant with only the standard library. It retries, which is safe: the id is the idempotency key.
// encoding/json writes an int64 with every digit, so the id stays exact. Never decode one into interface{}: it becomes a float64.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	attemptsMax = 6
	backoff     = 200 * time.Millisecond
	backoffMax  = 10 * time.Second
	timeout     = 30 * time.Second
)

// Seeded, since Go before 1.20 would start every program with the same delays.
var random = rand.New(rand.NewSource(time.Now().UnixNano()))

type NewPlant struct {
	ID   int64   `json:"id"`
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

type Plant struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag"`
}

// createPlant returns the response, and whether the same plant was stored before.
func createPlant(baseURL, token string, plant NewPlant) (stored Plant, replayed bool, err error) {
	body, err := json.Marshal(plant)
	if err != nil {
		return stored, false, err
	}
	client := &http.Client{Timeout: timeout}
	for attempt := 0; ; attempt++ {
		var retryAfter time.Duration
		response, text, err := post(client, strings.TrimRight(baseURL, "/")+"/plants", token, body)
		if err == nil {
			status := response.StatusCode
			if status == http.StatusOK {
				err = json.Unmarshal(text, &stored)
				return stored, response.Header.Get("Idempotent-Replayed") == "true", err
			}
			err = fmt.Errorf("%d: %s", status, text)
			if status != http.StatusRequestTimeout && status != http.StatusTooManyRequests && status < 500 {
				return stored, false, err
			}
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			retryAfter = time.Duration(seconds) * time.Second
		}
		if attempt+1 == attemptsMax {
			return stored, false, fmt.Errorf("no success in %d attempts: %w", attemptsMax, err)
		}
		// Jitter of up to half, so that clients that failed together do not retry together.
		delay := backoff << attempt
		if delay > backoffMax {
			delay = backoffMax
		}
		time.Sleep(retryAfter + delay/2 + time.Duration(random.Int63n(int64(delay/2))))
	}
}

func post(client *http.Client, url, token string, body []byte) (*http.Response, []byte, error) {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, text, err
}

func main() {
	url := "http://127.0.0.1:3000"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	tag := "indoor"
	plant := NewPlant{ID: 9007199254740993, Name: "Fern", Tag: &tag}
	stored, replayed, err := createPlant(url, os.Getenv("PLANT_STORE_ACCESS_TOKEN"), plant)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	how := "is stored"
	if replayed {
		how = "was stored already"
	}
	fmt.Printf("%s %s as %d.\n", stored.Name, how, plant.ID)
}
