import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { start } from '../cli/bin.js'
import { listening } from '../helpers/listening.js'

// Bodies much larger than the memory that they may cost, through a gateway of its own process: every byte arrives, and
// the buffers that stand, dead ones included, stay under a bound.

const MIB = 1024 * 1024
/**
 * Bytes of buffers at most, dead ones included: 8 MiB until the dead are collected, as many that are being freed
 * meanwhile, and what is in flight. Left to itself V8 lets 32 MiB gather, and newer versions twice as much.
 */
const MODES = [
  { name: 'as V8 collects by itself', flags: ['--no-expose-gc'], most: 128 * MIB },
  { name: 'as the gateway asks for it', flags: [], most: 32 * MIB },
]

const KEY = 'a-key-of-the-caller-0123456789'
const YAML = `version: 1
store: { type: memory }
transport: ${process.env.TEST_TRANSPORT ?? 'fast'}
log: { level: warn }
listen: { port: 0 }
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams:
  far:
    base: http://127.0.0.1:@PORT@
    credential: { in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }
    speaks:
      files: POST /v1/files
      files.content: GET /v1/files/{id}/content
      transcriptions: POST /v1/audio/transcriptions
models: { m: far }
`

const NOISE = randomBytes(2 * MIB)

/** So many random bytes in pieces of random sizes; `hash` is told of each. */
function* pieces(total: number, hash: ReturnType<typeof createHash>): Generator<Buffer, void, void> {
  for (let left = total; left > 0; ) {
    const from = randomInt(NOISE.length)
    const piece = NOISE.subarray(from, from + Math.min(left, randomInt(1, 200_000)))
    hash.update(piece)
    left -= piece.length
    yield piece
  }
}

/** Reads to the end, now and then later than it could; the digest. */
async function read(message: IncomingMessage): Promise<string> {
  const hash = createHash('sha256')
  let count = 0
  for await (const bytes of message) {
    hash.update(bytes as Buffer)
    if (++count % 16 === 0) await setImmediate()
  }
  return hash.digest('hex')
}

/** Sends a body; the digest of what was sent. */
async function send(to: Writable, total: number, head = '', foot = ''): Promise<string> {
  const hash = createHash('sha256')
  const all = function* (): Generator<Buffer, void, void> {
    const [first, last] = [Buffer.from(head), Buffer.from(foot)]
    if (first.length > 0) yield first
    yield* pieces(total, hash.update(first))
    hash.update(last)
    if (last.length > 0) yield last
  }
  await pipeline(Readable.from(all(), { objectMode: false, highWaterMark: 64 * 1024 }), to)
  return hash.digest('hex')
}

interface Stage {
  readonly origin: string
  /** The digest of what the upstream sent last. */
  readonly sent: () => string
  /** The most bytes of buffers that stood in the gateway since it was last asked. */
  readonly buffers: () => Promise<number>
}

/** An upstream that answers with the digest of what came, and sends files of so many bytes as they are called. */
async function stage(t: Test, more: readonly string[]): Promise<Stage> {
  let [sent, asked] = ['', 0]
  const answer = async (question: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (question.method === 'GET') {
      const size = Number(/file-(\d+)/.exec(question.url ?? '')?.[1])
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
      sent = await send(response, size)
      return
    }
    const id = await read(question)
    const about = { object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'user_data' }
    const name = question.headers['content-type']?.endsWith('=named') ? `file-${64 * MIB}` : `file-${id}`
    const body = JSON.stringify({ id: name, text: id, ...about })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  }
  const server = createServer((question, response) => {
    answer(question, response).catch(() => response.destroy())
  })
  const port = await listening(t, server)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-large-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, YAML.replace('@PORT@', String(port)))
  const flags = [...more, '--import', join(packageRoot(), 'test/fixtures/memory-probe.mjs')]
  const env = { CALLER_KEY: KEY, UPSTREAM_KEY: 'u' }
  const bin = start(t, ['serve', file, '--no-watch', '--log-level', 'info'], { env, flags, bare: true })
  const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
  const buffers = async (): Promise<number> => {
    bin.child.kill('SIGUSR2')
    const [, most = ''] = await bin.until(new RegExp(`buffers ${++asked}: (\\d+)`))
    return Number(most)
  }
  return { origin, sent: () => sent, buffers }
}

interface Sending {
  readonly path?: string
  readonly boundary?: string
  /** With a declared length, or in chunks. */
  readonly declared: boolean
}

const FOOT = (boundary: string): string => `\r\n--${boundary}--\r\n`

function headOf(boundary: string): string {
  const model = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n`
  return `${model}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`
}

/** Uploads a form with a file of so many bytes: what was sent, and what the upstream says has come. */
async function upload(
  { origin }: Stage,
  size: number,
  { path = '/v1/files', boundary = 'some-boundary-of-a-form', declared }: Sending,
): Promise<{ sent: string; came: unknown }> {
  const [head, foot] = [headOf(boundary), FOOT(boundary)]
  const length = head.length + size + foot.length
  const headers: OutgoingHttpHeaders = {
    authorization: `Bearer ${KEY}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    ...(declared ? { 'content-length': length } : {}),
  }
  const asking = request(origin + path, { method: 'POST', headers, agent: false })
  const answered = once(asking, 'response') as Promise<[IncomingMessage]>
  const [sent, [response]] = await Promise.all([send(asking, size, head, foot), answered])
  const text = Buffer.concat(await response.toArray()).toString()
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${text}`)
  return { sent, came: JSON.parse(text).text }
}

async function download({ origin }: Stage, id: string): Promise<string> {
  const asking = request(`${origin}/v1/files/${id}/content`, { headers: { authorization: `Bearer ${KEY}` } })
  asking.end()
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  return read(response)
}

async function bounded(t: Test, { buffers }: Stage, bound: number): Promise<void> {
  const most = await buffers()
  t.ok(most < bound, `${(most / MIB).toFixed(1)} MiB of buffers at most`)
}

for (const { name, flags, most } of MODES)
  t.test(`large bodies arrive byte for byte, and what they leave behind in memory is bounded, ${name}`, async t => {
    const gateway = await stage(t, flags)
    // Makes what is made once, and the file known that is read below.
    for (const declared of [true, false]) await upload(gateway, 8 * MIB, { boundary: 'named', declared })
    await gateway.buffers()

    await t.test('files on their way up, several at once', async t => {
      const ways = [true, false, true, false].map(declared => upload(gateway, 48 * MIB, { declared }))
      for (const { sent, came } of await Promise.all(ways)) t.equal(came, sent)
      await bounded(t, gateway, most)
    })

    await t.test('files on their way down', async t => {
      for (let at = 0; at < 2; at++) t.equal(await download(gateway, `file-${64 * MIB}`), gateway.sent())
      await bounded(t, gateway, most)
    })

    await t.test('forms that are held on the disk', async t => {
      const path = '/v1/audio/transcriptions'
      for (const declared of [true, false]) {
        const { sent, came } = await upload(gateway, 20 * MIB, { path, declared })
        t.equal(came, sent)
      }
      await bounded(t, gateway, most)
    })
  })
