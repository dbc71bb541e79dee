// What the reader of the documentation has in his folder.

/** Names of models, keys and upstreams that pages use, all served by the simulator. `local` is this gateway as someone's server. */
export function userFile(origin, adminPort, data) {
  return `version: 1
listen: { port: ${new URL(origin).port} }
admin: { port: ${adminPort}, write: true }
store: { type: file, path: ${data} }
receipts: on
groups: { research: {} }
keys:
  local: { secret: { env: GATEWAY_KEY, generate: true }, models: ["*"] }
upstreams:
  sim: { kind: simulator }
  local: { kind: openai-compatible, base: "${origin}", secret: { env: GATEWAY_KEY } }
models:
  sim-text: sim
  local-text: { upstream: local, as: sim-text }
  sim-responses: sim
  llama3: { upstream: sim, as: sim-text }
  swift-1: { upstream: sim, as: sim-text }
  gpt-5: { upstream: sim, as: sim-text }
  gpt-4.1: { upstream: sim, as: sim-text }
  gpt-image-1: { upstream: sim, as: sim-image }
  tts-1: { upstream: sim, as: sim-speech }
  whisper-1: { upstream: sim, as: sim-transcribe }
  sora-2: { upstream: sim, as: sim-video }
  rerank-v3.5: { upstream: sim, as: sim-rerank }
`
}

/** A picture of one pixel. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const FILES = {
  'photo.jpg': Buffer.from(PICTURE, 'base64'),
  'report.pdf': '%PDF-1.4\n%%EOF\n',
  'config.yaml': `model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
`,
}
