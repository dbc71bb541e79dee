import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { Bin } from '../cli/bin.js'
import type { ProbeReport } from './livez-probe.js'

/** Bytes of an answer that are kept for assertions; the rest is counted. */
const KEPT_BYTES = 64 * 1024
const CALLER_SECRET = 'the-key-of-the-caller-0123456789'

export interface SmallHeapOptions {
  /** Old space of the gateway, MiB. */
  readonly heap?: number
  readonly env?: Readonly<Record<string, string>>
  /** Further files of the configuration, by their name. */
  readonly files?: Readonly<Record<string, string>>
}

/** A request to the gateway: the same bytes may be sent many times at once. */
export interface Sent {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

/** What came back. `status` is 0 where the connection broke before a head. */
export interface Answered {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** The first 64 KiB. */
  readonly text: string
  readonly bytes: number
  /** Whether the answer came to its end. */
  readonly whole: boolean
}

/** `/livez` while something went on, in milliseconds. */
export interface Pulse {
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly probes: number
  readonly failures: number
}

/** An upstream in the test's process: whole requests are handed to `answer`, which may be set anew at any time. */
export interface HeapUpstream {
  readonly origin: string
  answer: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void
}

/** A gateway as a process of its own with little memory, before an upstream of the test's. */
export interface SmallHeap {
  readonly origin: string
  readonly key: string
  readonly upstream: HeapUpstream
  readonly bin: Bin
  readonly alive: boolean
  send(sent: Sent): Promise<Answered>
  /** Sends the same `times` at once. */
  sendAll(sent: Sent, times: number): Promise<Answered[]>
  /** Probes `/livez` while `work` continues. */
  pulse<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly pulse: Pulse }>
  /** Most resident memory so far, MiB; undefined where the system does not tell. */
  peakMiB(): number | undefined
}

export async function startHeapUpstream(t: Test): Promise<HeapUpstream> {
  const upstream: { origin: string; answer: HeapUpstream['answer'] } = {
    origin: '',
    answer: (_request, response) => response.writeHead(500).end(),
  }
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => upstream.answer(incoming, response, Buffer.concat(chunks)))
    incoming.on('error', () => undefined)
    response.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  upstream.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return upstream
}

/**
 * Starts `gateway serve` with `--max-old-space-size`. `yaml` gets the upstream's origin; its `listen` has to take port 0,
 * its key the secret in `CALLER_KEY`.
 */
export async function startSmallHeap(
  t: Test,
  yaml: (origin: string) => string,
  { heap = 512, env = {}, files = {} }: SmallHeapOptions = {},
): Promise<SmallHeap> {
  const upstream = await startHeapUpstream(t)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-heap-'))
  for (const [name, text] of Object.entries({ ...files, 'gateway.yaml': yaml(upstream.origin) }))
    writeFileSync(join(folder, name), text)
  const bin = new Bin(['serve', join(folder, 'gateway.yaml'), '--no-watch'], {
    env: { CALLER_KEY: CALLER_SECRET, UPSTREAM_KEY: 'the-key-of-the-upstream-0123456789', ...env },
    flags: [`--max-old-space-size=${heap}`],
    cwd: folder,
    bare: true,
  })
  const agent = new Agent({ keepAlive: false })
  t.teardown(async () => {
    bin.child.kill('SIGKILL')
    await bin.ended
    agent.destroy()
    rmSync(folder, { recursive: true, force: true })
  })
  const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
  const send = (sent: Sent): Promise<Answered> => sendTo(origin, CALLER_SECRET, agent, sent)
  return {
    origin,
    key: CALLER_SECRET,
    upstream,
    bin,
    get alive() {
      return bin.child.exitCode === null && bin.child.signalCode === null
    },
    send,
    sendAll: (sent, times) => Promise.all(Array.from({ length: times }, () => send(sent))),
    pulse: work => pulse(origin, work),
    peakMiB: () => peakMiB(bin.child.pid),
  }
}

function sendTo(
  origin: string,
  key: string,
  agent: Agent,
  { path, method = 'POST', headers, body }: Sent,
): Promise<Answered> {
  return new Promise(resolve => {
    let told: Answered = { status: 0, headers: {}, text: '', bytes: 0, whole: false }
    const bytes = Buffer.from(body ?? '')
    const asked = request(new URL(path, origin), {
      method,
      agent,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': bytes.length,
        ...headers,
      },
    })
    asked.on('response', response => {
      const kept: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        if (size < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - size))
        size += chunk.length
      })
      response.on('error', () => undefined)
      response.on('close', () => {
        const text = Buffer.concat(kept).toString('utf8')
        const { statusCode: status = 0, complete: whole } = response
        told = { status, headers: response.headers, text, bytes: size, whole }
        asked.destroy()
        resolve(told)
      })
    })
    // One that is refused before its end may break while it is sent: what has been answered counts.
    asked.on('error', () => undefined)
    asked.on('close', () => resolve(told))
    asked.end(bytes)
  })
}

async function pulse<T>(origin: string, work: () => Promise<T>): Promise<{ result: T; pulse: Pulse }> {
  const worker = new Worker(new URL('./livez-probe.js', import.meta.url), { workerData: { origin } })
  await once(worker, 'message')
  const ended = once(worker, 'message') as Promise<[ProbeReport]>
  const result = await work()
  worker.postMessage('end')
  const [{ times, failures }] = await ended
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return { result, pulse: { p50: at(0.5), p99: at(0.99), max: at(1), probes: sorted.length, failures } }
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}

/** `VmHWM` of proc(5): the peak of the resident set. */
function peakMiB(pid: number | undefined): number | undefined {
  try {
    const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : Math.round(Number(kib) / 1024)
  } catch {
    return undefined
  }
}
