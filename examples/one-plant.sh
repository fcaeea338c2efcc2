# PLANT_STORE_ACCESS_TOKEN=pst_… sh examples/one-plant.sh http://127.0.0.1:3000
# Creates one plant with curl. It retries, which is safe: the id is the idempotency key.
curl --silent --show-error --retry 5 --retry-connrefused "${1:-http://127.0.0.1:3000}/plants" \
  -H "Authorization: Bearer $PLANT_STORE_ACCESS_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{"id": 42, "name": "Moss"}'
