import { deepStrictEqual, ok } from 'node:assert/strict'
import t from 'tap'
import { EventUsage } from '../../src/wire/event-usage.js'
import { JsonScanner } from '../../src/wire/json-scan.js'
import { SseDecoder } from '../../src/wire/sse.js'
import { SseRelay } from '../../src/wire/sse-relay.js'
import { Tail } from '../../src/wire/tail.js'
import { readRecordings, recordingsFile } from '../helpers/recordings.js'
import { cutEverywhere } from './cuts.js'

const LIMITS = { line: 1 << 20, event: 4 << 20 }
const CHAT_USAGE = { input: [['usage', 'prompt_tokens']], output: [['usage', 'completion_tokens']] }

/** Whether a skeleton is the value, but for strings over 1 KiB of which it has the beginning. */
function isSkeletonOf(value: unknown, skeleton: unknown): boolean {
  if (typeof value === 'string' && typeof skeleton === 'string')
    return value === skeleton || (Buffer.byteLength(JSON.stringify(value)) > 1026 && value.startsWith(skeleton))
  if (typeof value !== 'object' || value === null || typeof skeleton !== 'object' || skeleton === null)
    return value === skeleton
  const [members, kept] = [Object.entries(value), Object.entries(skeleton)]
  return (
    members.length === kept.length &&
    members.every(([name, each], i) => name === kept[i]?.[0] && isSkeletonOf(each, kept[i]?.[1]))
  )
}

const file = recordingsFile()
const skip = file === undefined && 'no recordings'

t.test('recorded streams are relayed byte for byte, cut after every byte', { skip }, async t => {
  let streams = 0
  for await (const { response } of readRecordings(String(file))) {
    const type = String(response.headers['content-type'])
    const bytes = Buffer.from(response.body)
    if (!type.includes('event-stream') || !/(\n\n|\r\n\r\n)$/.test(response.body)) continue
    const whole = new SseRelay({ ...LIMITS, end: undefined })
    const pieces = new SseRelay({ ...LIMITS, end: undefined })
    deepStrictEqual(whole.push(bytes), bytes)
    const out = cutEverywhere(bytes).flatMap(piece => pieces.push(piece) ?? [])
    deepStrictEqual(Buffer.concat(out), bytes)
    deepStrictEqual([pieces.content, pieces.events], [whole.content, whole.events])
    const frames = new SseDecoder(LIMITS).push(bytes)
    deepStrictEqual(new SseDecoder(LIMITS).push(Buffer.concat(out)), frames)
    for (const { data } of frames) if (data !== '' && data !== '[DONE]') JSON.parse(data)
    streams++
  }
  t.ok(streams > 100, `${streams} streams`)
})

t.test('usage of recorded chat streams is that of the last event that has it', { skip }, async t => {
  let found = 0
  for await (const { request, response } of readRecordings(String(file))) {
    if (!request.url.includes('/chat/completions') || !response.body.startsWith('data:')) continue
    const bytes = Buffer.from(response.body)
    const usages = new SseDecoder(LIMITS)
      .push(bytes)
      .flatMap(({ data }) => (data.startsWith('{') ? [JSON.parse(data).usage] : []))
      .filter(usage => typeof usage?.prompt_tokens === 'number')
    const usage = usages.at(-1)
    if (usage === undefined) continue
    const expected = { input: usage.prompt_tokens, output: usage.completion_tokens }
    const tail = new Tail()
    tail.push(bytes)
    deepStrictEqual(new EventUsage(CHAT_USAGE).usage(tail, undefined), expected)
    found++
  }
  t.ok(found > 20, `${found} with usage`)
})

t.test(
  'recorded request bodies are accepted, and their skeletons parse to the same but for long strings',
  { skip },
  async t => {
    let bodies = 0
    for await (const { request } of readRecordings(String(file))) {
      if (typeof request.body !== 'object' || request.body === null || Array.isArray(request.body)) continue
      const text = JSON.stringify(request.body)
      const scanner = new JsonScanner({ control: ['model', 'stream'], depth: 64, members: 10_000 })
      scanner.push(Buffer.from(text))
      deepStrictEqual(scanner.end(), undefined)
      const skeleton = JSON.parse(scanner.skeleton())
      ok(isSkeletonOf(request.body, skeleton), text)
      bodies++
    }
    t.ok(bodies > 500, `${bodies} bodies`)
  },
)
