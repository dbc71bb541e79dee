import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { body as bodyOf, json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** Endpoints that the gateway has never heard of: the ten lines of the documentation, as they stand there. */

function documented(): string {
  const page = readFileSync(join(packageRoot(), 'docs', 'configuration.md'), 'utf8')
  const example = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, yaml = '']) => yaml)
    .find(yaml => /\/v1\/ocr: .*64MiB/.test(yaml))
  if (example === undefined) throw new Error('the example is no longer there')
  return example
}

async function staged(t: Test, ...scripts: Script[]): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  const example = documented()
    .replace('https://ocr.example.com', upstream.origin)
    .replace('64MiB', '1MiB')
    .replace('READER_API_KEY', 'UPSTREAM_KEY')
    .replace('swift-ocr: reader', 'swift-ocr: reader, mine: { upstream: reader, as: theirs }')
  return { upstream, gateway: await startTestGateway(t, `version: 1\n${CALLER}\n${example}`) }
}

const PATH = '/v1/ocr'
const ASK = {
  model: 'swift-ocr',
  document: { type: 'document_url', document_url: 'data:application/pdf;base64,JVBERi0=' },
}
const PAGES = { pages: [{ index: 0, markdown: '# Title' }], usage_info: { pages_processed: 1, doc_size_bytes: 7 } }

t.test('the example has ten lines, without those that any configuration has', async t => {
  t.ok(documented().trim().split('\n').length <= 11)
})

t.test('JSON in and out, byte for byte, with the upstream’s credential and not the caller’s', async t => {
  const text = JSON.stringify(PAGES, undefined, 3)
  const { gateway, upstream } = await staged(t, bodyOf(text))
  const sent = `{ "model" : "mine", "big": 12345678901234567890.10e+2, "document": {"a":[1,2]} }`
  const answer = await gateway.request(PATH, { body: sent })
  t.equal(answer.status, 200, answer.text)
  t.equal(answer.text, text)
  const [request] = upstream.requests.items
  t.equal(`${request?.method} ${request?.target}`, 'POST /v1/ocr')
  t.equal(request?.body.toString(), sent.replace('"mine"', '"theirs"'))
  t.notOk(request?.header('authorization')?.includes(gateway.key))
  t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'ok', model: 'mine', upstream: 'reader' })
})

t.test('a binary answer passes as it is, with its type, whole and in pieces', async t => {
  const bytes = randomBytes(300_000)
  const type = { headers: { 'content-type': 'application/pdf', 'content-disposition': 'attachment' } }
  const { gateway } = await staged(
    t,
    bodyOf(bytes, type),
    stream([bytes.subarray(0, 1000), bytes.subarray(1000)], type),
  )
  for (let i = 0; i < 2; i++) {
    const answer = await gateway.request(PATH, { body: ASK })
    t.equal(answer.header('content-type'), 'application/pdf')
    t.ok(answer.whole && answer.body.equals(bytes))
  }
})

t.test('the key check, the model and the limit hold here as everywhere', async t => {
  const { gateway, upstream } = await staged(t, json(PAGES))
  compatibleError(t, await gateway.request(PATH, { body: ASK, key: 'wrong' }), 401, 'invalid_api_key')
  compatibleError(t, await gateway.request(PATH, { body: { ...ASK, model: 'nobody' } }), 404, 'model_not_found')
  compatibleError(t, await gateway.request(PATH, { body: { document: {} } }), 400, 'missing_required_parameter')
  compatibleError(
    t,
    await gateway.request(PATH, { body: '{"model":"swift-ocr","model":"b"}' }),
    400,
    'duplicate_parameter',
  )
  compatibleError(t, await gateway.request(PATH, { body: { ...ASK, more: 'x'.repeat(1024 * 1024) } }), 413, 'too_large')
  compatibleError(t, await gateway.request(PATH, { method: 'GET' }), 405)
  t.equal(upstream.requests.items.length, 0)
})

t.test('a refusal of the upstream is reported in its words, and its failures in ours', async t => {
  const refusal = {
    error: { message: 'The document has no pages.', type: 'invalid_request_error', param: null, code: null },
  }
  const { gateway } = await staged(t, json(refusal, { status: 422 }), json({ detail: 'no' }, { status: 401 }))
  const refused = await gateway.request(PATH, { body: ASK })
  t.equal(refused.status, 422)
  t.match(refused.json(), refusal)
  compatibleError(t, await gateway.request(PATH, { body: ASK }), 502, 'upstream_auth')
})

t.test('a raw body streams through untouched, whatever it is, with the model in the query', async t => {
  const { gateway, upstream } = await staged(t, json({ scanned: true }))
  const bytes = randomBytes(700_000)
  const headers = { 'content-type': 'image/tiff' }
  const path = '/v1/scans/page%201?model=swift-ocr&dpi=300'
  const answer = await gateway.request(path, { method: 'PUT', body: bytes, headers })
  t.equal(answer.status, 200, answer.text)
  const [request] = upstream.requests.items
  t.equal(`${request?.method} ${request?.target}`, 'PUT /v2/scans/page%201?dpi=300')
  t.equal(request?.header('content-type'), 'image/tiff')
  const digest = (data: Buffer | undefined): string =>
    createHash('sha256')
      .update(data ?? '')
      .digest('hex')
  t.equal(digest(request?.body), digest(bytes))
  compatibleError(t, await gateway.request(path, { method: 'PUT', body: bytes, headers, key: 'wrong' }), 401)
  compatibleError(t, await gateway.request('/v1/scans/a', { method: 'PUT', body: bytes, headers }), 400)
})

proveNoLeak(t)
