/** A configuration that serves the simulator, with a warning-free file and a key from the variable TEST_KEY. */
export const GOOD = `version: 1
store: { type: file, path: ./data }
keys:
  local: { secret: { env: TEST_KEY }, models: ["*"] }
upstreams:
  sim: { kind: simulator }
  north: { kind: openai-compatible, base: https://north.example, secret: { env: NORTH_KEY } }
models:
  sim-text: sim
  north-text: north
`

/** The same with a misspelt key in line 6 and a reference to nothing in line 9. */
export const BAD = GOOD.replace('kind: simulator', 'kidn: simulator').replace('sim-text: sim', 'sim-text: simm')

export const TEST_KEY = 'gw-test-key-of-the-command-line'
