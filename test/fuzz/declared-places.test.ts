import { deepEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import { isObject } from '../../src/core/json.js'
import type { UsagePaths } from '../../src/core/plan.js'
import { EndMembers } from '../../src/wire/end-members.js'
import { EventUsage } from '../../src/wire/event-usage.js'
import { MessageUsage } from '../../src/wire/message-usage.js'
import { SseRelay } from '../../src/wire/sse-relay.js'
import { Tail } from '../../src/wire/tail.js'
import { PassingUsage, usageAtEnd, usageOf } from '../../src/wire/usage.js'
import { cut, places } from '../wire/cuts.js'
import { documents } from '../wire/json-documents.js'
import { fuzz } from './run.js'

/** The fast readers of bytes against plain readers, which parse each document and look at declared places alone. */

const PATHS: UsagePaths = {
  input: [
    ['usage', 'in'],
    ['usage', 'read'],
    ['response', 'usage', 'in'],
    ['response', 'usage', 'read'],
  ],
  output: [
    ['usage', 'out'],
    ['response', 'usage', 'out'],
  ],
  cached: [['meta', 'more', 'tokens', 'cached']],
  total: [['total']],
}
const ENDS = [['choices', '*', 'end'], ['why', 'end'], ['stop']]

/** Names that mean something somewhere, so that they stand in wrong places, too. */
const NAMES = [
  'usage',
  'response',
  'in',
  'out',
  'read',
  'total',
  'meta',
  'more',
  'tokens',
  'cached',
  'choices',
  'end',
  'why',
  'stop',
  'error',
  'type',
  'x',
  '__proto__',
] as const
const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    'done',
    'not',
    '"usage":{"in":1}',
    'data: {"usage":{"in":1}}\n\n',
    '}',
    '\\',
  ),
  fc.nat(99),
  fc.constantFrom(-1, 1.5, 1e13),
)
const { value } = fc.letrec<{ value: unknown; object: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 6 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 5, noNullPrototype: true }),
}))
/** A long text at some place makes documents that are longer than what is parsed whole. */
const document = fc
  .tuple(fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 6 }), fc.constantFrom(0, 0, 0, 9000, 17_000))
  .map(([members, length]) => (length === 0 ? { ...members } : { ...members, long: 'x'.repeat(length) }))
const json = fc.tuple(document, fc.constantFrom(undefined, 1)).map(([one, space]) => JSON.stringify(one, null, space))

/** The usage of some documents, the last one that tells a number first. */
function told(messages: readonly unknown[]): Record<string, number> | undefined {
  const counts: Record<string, number> = {}
  const numbers = [
    ['input', 'in'],
    ['input', 'read'],
    ['output', 'out'],
  ] as const
  const last = (read: (message: unknown) => unknown): number | undefined => messages.map(read).filter(isCount).at(-1)
  const at = (message: unknown, ...path: string[]): unknown =>
    path.reduce<unknown>((one, name) => (isPlain(one) && Object.hasOwn(one, name) ? one[name] : undefined), message)
  for (const [field, name] of numbers) {
    const count = last(message => [at(message, 'usage', name), at(message, 'response', 'usage', name)].find(isCount))
    if (count !== undefined) counts[field] = (counts[field] ?? 0) + count
  }
  const cached = last(message => at(message, 'meta', 'more', 'tokens', 'cached'))
  if (cached !== undefined) counts.cached = cached
  const total = last(message => at(message, 'total'))
  if (total !== undefined) counts.total = total
  return Object.keys(counts).length === 0 ? undefined : counts
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e12
}

/** Whether a document says how the answer ended. */
function ended(message: unknown): boolean {
  if (!isPlain(message)) return false
  const own = (one: unknown, name: string): unknown =>
    isPlain(one) && Object.hasOwn(one, name) ? one[name] : undefined
  const choices = own(message, 'choices')
  const all: unknown[] = Array.isArray(choices) ? choices : isPlain(choices) ? Object.values(choices) : []
  return [...all.map(one => own(one, 'end')), own(own(message, 'why'), 'end'), own(message, 'stop')].some(
    one => one !== undefined && one !== null,
  )
}

fuzz('usage of a JSON answer that passes in pieces', {
  inputs: fc.tuple(json, places),
  check([text, at]) {
    const passing = new PassingUsage(PATHS)
    for (const piece of cut(Buffer.from(text), at)) passing.push(piece)
    equal(passing.isWhole, true)
    const expected = told([JSON.parse(text)])
    deepEqual(passing.usage(), expected)
    deepEqual(usageOf(JSON.parse(text), PATHS), expected)
    const atEnd = isObject(JSON.parse(text)) ? usageAtEnd(Buffer.from(text), PATHS) : undefined
    if (atEnd !== undefined) deepEqual(atEnd, expected)
  },
})

fuzz('whether a JSON answer has closed', {
  inputs: fc.tuple(documents, fc.nat(1000), places),
  check([text, lost, at]) {
    const trimmed = Buffer.from(text.trim())
    const passing = new PassingUsage(PATHS)
    const left = trimmed.subarray(0, trimmed.length - (lost % (trimmed.length + 1)))
    for (const piece of cut(left, at)) passing.push(piece)
    equal(passing.isWhole, left.length === trimmed.length)
  },
})

const BREAKS = ['\n', '\r\n', '\r'] as const
const event = fc.tuple(json, fc.boolean(), fc.constantFrom(...BREAKS)).map(([data, isNamed, end]) => ({
  document: JSON.parse(data) as unknown,
  text: `${isNamed ? `event: x${end}` : ''}${data
    .split('\n')
    .map(line => `data: ${line}${end}`)
    .join('')}${end}`,
}))

fuzz('usage of an event stream, and whether it may end', {
  inputs: fc.tuple(fc.array(event, { maxLength: 7 }), places),
  check([events, at]) {
    const usage = new EventUsage(PATHS)
    const tail = new Tail()
    const relay = new SseRelay({
      line: 1e6,
      event: 1e6,
      end: { data: undefined, events: [], members: ENDS },
      onLarge: data => usage.large(data),
    })
    for (const piece of cut(Buffer.from(events.map(({ text }) => text).join('')), at)) {
      const whole = relay.push(piece)
      if (whole !== undefined) tail.push(whole)
    }
    equal(
      relay.whole,
      events.some(({ document }) => ended(document)),
    )
    deepEqual(usage.usage(tail, relay.first), told(readable(events)))
  },
})

/** The events of which usage is read: the first one, those longer than 8 KiB, and those wholly in the last 16 KiB. */
function readable(events: readonly { document: unknown; text: string }[]): readonly unknown[] {
  let behind = 0
  const kept: unknown[] = []
  for (const [index, { document, text }] of [...events.entries()].reverse()) {
    const length = Buffer.byteLength(text)
    behind += length
    const isLarge = Buffer.byteLength(text.trimEnd()) + 2 > 8 * 1024
    if (index === 0 || isLarge || behind <= 16 * 1024) kept.unshift(document)
  }
  return kept
}

fuzz('usage of the messages of a session', {
  inputs: fc.tuple(fc.array(fc.tuple(json, fc.constantFrom('done', 'other'), fc.boolean()), { maxLength: 4 }), places),
  check([messages, at]) {
    const reader = new MessageUsage(['done'], PATHS)
    const sum: Record<string, number> = {}
    for (const [text, type, isFirst] of messages) {
      const { type: _, ...others } = JSON.parse(text) as Record<string, unknown>
      const message = isFirst ? { type, ...others } : { ...others, type }
      reader.begin()
      for (const piece of cut(Buffer.from(JSON.stringify(message)), at)) reader.push(piece, 0, piece.length)
      reader.end()
      if (type !== 'done') continue
      for (const [field, count] of Object.entries(told([message]) ?? {})) sum[field] = (sum[field] ?? 0) + count
    }
    deepEqual(reader.usage ?? {}, sum)
  },
})

fuzz('members that end a stream', {
  inputs: fc.tuple(json),
  check([text]) {
    const members = new EndMembers(ENDS)
    const bytes = Buffer.from(text)
    equal(members.mayStandIn(bytes) && members.standIn(bytes), ended(JSON.parse(text)))
    equal(members.standAt(JSON.parse(text)), ended(JSON.parse(text)))
  },
})
