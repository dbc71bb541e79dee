import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { type RawData, WebSocket } from 'ws'
import { packageRoot } from '../../src/core/package-root.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'

// The configuration that is shipped, as someone tries it who has no key of anyone else's.

const KEY = 'key-of-the-shipped-file-0123'

async function stage(t: Test): Promise<{ readonly gateway: TestGateway; readonly sdk: OpenAI }> {
  const yaml = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
  const gateway = await startTestGateway(t, yaml, { env: { GATEWAY_KEY: KEY } })
  return { gateway, sdk: new OpenAI({ apiKey: KEY, baseURL: `${gateway.origin}/v1`, maxRetries: 0 }) }
}

const params = async (): Promise<OpenAI.FileCreateParams> => ({
  file: await toFile(Buffer.from('The quick brown fox.'), 'fox.txt'),
  purpose: 'user_data',
})

const asked = (sdk: OpenAI, model: string, id: string) =>
  sdk.chat.completions.create({
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: id } },
          { type: 'text', text: 'Read' },
        ],
      },
    ],
  })

/** How a request is refused. */
const refusal = async (request: Promise<unknown>): Promise<{ readonly status?: number; readonly param?: string }> =>
  request.then(
    () => ({}),
    (error: { status?: number; param?: string }) => error,
  )

t.test('a file that was uploaded without a model is read by sim-text', async t => {
  const { sdk } = await stage(t)
  const { id } = await sdk.files.create(await params())
  t.ok((await asked(sdk, 'sim-text', id)).choices[0]?.message.content)
})

t.test('a file that was uploaded for a model is read by that model, and others say what to do', async t => {
  const { sdk } = await stage(t)
  const { id } = await sdk.files.create(await params(), { headers: { 'x-gateway-model': 'sim-responses' } })
  const content = [{ type: 'input_file', file_id: id } as const]
  const answer = await sdk.responses.create({ model: 'sim-responses', input: [{ role: 'user', content }] })
  t.ok(answer.output_text)
  t.match(await refusal(asked(sdk, 'sim-text', id)), { status: 400, message: /x-gateway-model/ })
})

t.test('native: a file that was uploaded without a model is read by sim-generate', async t => {
  const { gateway } = await stage(t)
  const sdk = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.origin } })
  const { uri = '' } = await sdk.files.upload({ file: new Blob(['The quick brown fox.'], { type: 'text/plain' }) })
  const parts = [{ fileData: { fileUri: uri, mimeType: 'text/plain' } }, { text: 'Read' }]
  const answer = await sdk.models.generateContent({ model: 'sim-generate', contents: [{ role: 'user', parts }] })
  t.ok(answer.text)
})

t.test('a model whose upstream takes no files is refused for good; one that is switched off for now', async t => {
  const { sdk } = await stage(t)
  const file = await params()
  t.match(await refusal(sdk.files.create(file, { query: { model: 'sim-generate' } })), { status: 400, param: 'model' })
  const named = refusal(sdk.files.create(file, { headers: { 'x-gateway-model': 'sim-messages' } }))
  t.match(await named, { status: 400, param: 'x-gateway-model' })
  t.match(await refusal(sdk.files.create(file, { query: { model: 'gpt-4.1' } })), { status: 503 })
})

t.test('a realtime session that names no model talks to sim-realtime', async t => {
  const { gateway } = await stage(t)
  const headers = { authorization: `Bearer ${KEY}` }
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/realtime`, { headers })
  t.teardown(() => socket.terminate())
  const events = new Journal<{ readonly type: string; readonly session?: { readonly model?: string } }>('events')
  socket.on('message', (data: RawData) => events.push(JSON.parse(String(data))))
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.' } }))
  t.match(await events.find(({ type }) => type === 'session.updated'), { session: { model: 'sim-realtime' } })
})

proveNoLeak(t)
