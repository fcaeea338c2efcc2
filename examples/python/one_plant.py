# PLANT_STORE_ACCESS_TOKEN=pst_… python3 examples/python/one_plant.py http://127.0.0.1:3000
# Creates one plant with only the standard library. It retries, which is safe: the id is the idempotency key.
# Python's int has no limit, and json writes every digit, so the id stays exact.
import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

ATTEMPTS_MAX = 6
BACKOFF_S = 0.2
BACKOFF_S_MAX = 10
TIMEOUT_S = 30


class Refused(Exception):
    """The service refused the plant; sending it again would not help."""


def create_plant(base_url, token, plant):
    """Returns the response, and whether the same plant was stored before."""
    request = urllib.request.Request(
        base_url.rstrip("/") + "/plants",
        data=json.dumps(plant).encode(),
        headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"},
        method="POST",
    )
    for attempt in range(ATTEMPTS_MAX):
        retry_after_s = 0
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                return json.load(response), response.headers.get("Idempotent-Replayed") == "true"
        except urllib.error.HTTPError as error:
            with error:
                body = error.read().decode(errors="replace")
            if error.code not in (408, 429) and error.code < 500:
                raise Refused(body) from None
            failure = f"{error.code}: {body}"
            seconds = error.headers.get("Retry-After", "")
            retry_after_s = int(seconds) if seconds.isdigit() else 0
        except (OSError, http.client.HTTPException) as error:
            failure = repr(error)
        if attempt + 1 < ATTEMPTS_MAX:
            # Jitter of up to half, so that clients that failed together do not retry together.
            backoff_s = min(BACKOFF_S * 2**attempt, BACKOFF_S_MAX)
            time.sleep(retry_after_s + backoff_s * random.uniform(0.5, 1))
    raise ConnectionError(f"no success in {ATTEMPTS_MAX} attempts: {failure}")


if __name__ == "__main__":
    plant = {"id": 9007199254740993, "name": "Fern", "tag": "indoor"}
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:3000"
    try:
        stored, replayed = create_plant(url, os.environ["PLANT_STORE_ACCESS_TOKEN"], plant)
    except (Refused, ConnectionError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(f"{stored['name']} {'was stored already' if replayed else 'is stored'} as {plant['id']}.")
