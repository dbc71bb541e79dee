import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import { fold } from '../../../src/codecs/fold.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Part, TextRequest, TextResult } from '../../../src/core/text.js'
import { type TextExchange, textExchanges } from '../../helpers/text-recordings.js'
import { decodeAll, faultsOf, plain, readBack, targetOf } from '../support.js'

const exchanges = (await textExchanges()).filter(({ protocol }) => protocol === 'chat')
const skip = exchanges.length === 0 && 'no recordings'

/** Recorded streams that are errors, or no whole streams. */
const BROKEN: Readonly<Record<string, string>> = {
  'test_tool_use_failed_error_streaming.yaml #0': 'upstream_failed',
  'test_openrouter_stream_error.yaml #0': 'upstream_failed',
  // Two streams in one file.
  'cererebras-structured-output-tools.1.chunks.txt': 'bad_upstream_response',
}

/** What the documents say, read as plainly as can be: by an index, not by the codec. */
interface Raw {
  text: string
  reasoning: string
  calls: { name: string; arguments: string }[]
  finish: string
}

type Any = ReturnType<typeof JSON.parse>

function rawOfMessage(message: Any, finish: string | null): Raw {
  const list = Array.isArray(message.content) ? message.content : [{ type: 'text', text: message.content ?? '' }]
  const thinking = list.filter((one: Any) => one.type === 'thinking').flatMap((one: Any) => one.thinking)
  return {
    text: join(list.filter((one: Any) => one.type === 'text')),
    reasoning: message.reasoning_content || message.reasoning || join(thinking) || detailsOf(message.reasoning_details),
    calls: (message.tool_calls ?? []).map((call: Any) => ({
      name: (call.function ?? call.custom).name,
      arguments: (call.function ?? { arguments: call.custom.input }).arguments ?? '',
    })),
    finish: finish ?? '',
  }
}

function join(list: readonly Any[]): string {
  return list.map(({ text }) => text ?? '').join('')
}

function detailsOf(details: readonly Any[] | undefined): string {
  return (details ?? []).map(({ text, summary }) => text ?? summary ?? '').join('')
}

function rawOfStream(exchange: TextExchange): Map<number, Raw> {
  const found = new Map<number, Raw>()
  for (const { data } of exchange.frames ?? []) {
    if (data === '[DONE]') continue
    for (const { index = 0, delta = {}, finish_reason } of (JSON.parse(data) as Any).choices ?? []) {
      const raw = found.get(index) ?? { text: '', reasoning: '', calls: [], finish: '' }
      found.set(index, raw)
      const piece = rawOfMessage({ ...delta, tool_calls: [] }, finish_reason ?? null)
      raw.text += piece.text
      raw.reasoning += piece.reasoning
      raw.finish = piece.finish || raw.finish
      for (const call of delta.tool_calls ?? []) {
        // Servers that leave the index out send whole calls.
        const place = call.index ?? raw.calls.length
        raw.calls[place] ??= { name: '', arguments: '' }
        const entry = raw.calls[place]!
        entry.name ||= call.function?.name ?? ''
        entry.arguments += call.function?.arguments ?? ''
      }
    }
  }
  return found
}

function rawOfResult({ candidates }: TextResult): Raw[] {
  return candidates.map(({ parts, end }) => ({
    text: join(parts.filter(({ type }) => type === 'text')),
    reasoning: join(parts.filter(({ type }) => type === 'reasoning')),
    calls: parts.flatMap(part => (part.type === 'call' ? [{ name: part.name, arguments: part.arguments }] : [])),
    finish: end.reason,
  }))
}

const FINISH: Readonly<Record<string, readonly string[]>> = {
  stop: ['stop', 'tool', 'refusal'],
  length: ['length'],
  tool_calls: ['tool'],
  content_filter: ['filter'],
  '': ['tool', 'other'],
}

/** Different in what? Nothing where both agree. */
function differences(raw: readonly Raw[], read: readonly Raw[], name: string): string[] {
  const faults: string[] = raw.length === read.length ? [] : [`${name}: ${read.length} of ${raw.length} choices`]
  for (const [i, one] of raw.entries()) {
    const other = read[i]
    if (other?.text !== one.text) faults.push(`${name}: text`)
    if (other?.reasoning !== one.reasoning) faults.push(`${name}: reasoning`)
    if (JSON.stringify(other?.calls) !== JSON.stringify(one.calls)) faults.push(`${name}: calls`)
    if (!FINISH[one.finish]?.includes(other?.finish ?? '')) faults.push(`${name}: ${one.finish} is ${other?.finish}`)
  }
  return faults
}

function usageFaults(raw: Any, usage: TextResult['usage'], name: string): string[] {
  if (!raw) return usage === undefined ? [] : [`${name}: usage from nowhere`]
  // Some count in the total alone what the model thought or heard.
  const apart = Math.max(0, raw.total_tokens - raw.prompt_tokens - raw.completion_tokens)
  const heard = apart === raw.prompt_tokens_details?.audio_tokens ? apart : 0
  const same = usage?.input === raw.prompt_tokens + heard && usage?.output === raw.completion_tokens + apart - heard
  return same ? [] : [`${name}: usage ${JSON.stringify(usage)}`]
}

t.test('every recorded answer says what the document says', { skip }, async t => {
  const whole = exchanges.filter(({ status, result }) => status === 200 && result !== undefined)
  const faults = whole.flatMap(({ name, result }) => {
    const document = result as Any
    const read = chat.client.decodeResult(document)
    const raw = document.choices.map((choice: Any) => rawOfMessage(choice.message ?? {}, choice.finish_reason))
    return [...differences(raw, rawOfResult(read), name), ...usageFaults(document.usage, read.usage, name)]
  })
  t.comment(`${whole.length} answers`)
  t.ok(whole.length > 400)
  t.same(faults, [])
})

t.test('every recorded stream says what its chunks say', { skip }, async t => {
  const streams = exchanges.filter(({ status, frames }) => status === 200 && frames !== undefined)
  const faults = streams.flatMap(exchange => {
    const events = decodeAll(chat, exchange.frames ?? [])
    const last = events.at(-1)
    const broken = Object.entries(BROKEN).find(([file]) => exchange.name.endsWith(file))?.[1]
    const code = last?.type === 'error' ? last.error.code : undefined
    if (code !== broken) return [`${exchange.name}: ${code} for ${broken}`]
    const unsound = faultsOf(events).map(fault => `${exchange.name}: ${fault}`)
    if (broken !== undefined) return unsound
    const read = fold(events)
    const raw = [...rawOfStream(exchange)].sort(([a], [b]) => a - b).map(([, one]) => one)
    const usage = (exchange.frames ?? []).flatMap(({ data }) =>
      data === '[DONE]' ? [] : [JSON.parse(data).usage ?? JSON.parse(data).x_groq?.usage ?? []],
    )
    const counted = usage.filter(one => !Array.isArray(one)).at(-1)
    return [
      ...unsound,
      ...differences(raw, rawOfResult(read), exchange.name),
      ...usageFaults(counted, read.usage, exchange.name),
    ]
  })
  t.comment(`${streams.length} streams`)
  t.ok(streams.length > 100)
  t.same(faults, [])
})

t.test('every recorded request can be read, and is the same once it was written and read again', { skip }, async t => {
  const asked = exchanges.filter(({ request, status }) => request !== undefined && status === 200)
  const faults: string[] = []
  for (const { name, request } of asked) {
    const read = chat.server.decodeRequest(request!, { model: 'upstream-model', stream: false })
    if (read.turns.some(({ parts }) => parts.some(part => part.type === 'media' && isUrl(part.source)))) continue
    const target = targetOf(chat)
    const once = readBack(chat, read, target)
    try {
      deepStrictEqual(lasting(readBack(chat, once)), lasting(once))
    } catch (error) {
      faults.push(`${name}: ${String(error).slice(0, 500)}`)
    }
    const moved = target.lost.some(({ field }) => field === 'resultMedia')
    if (!moved && words(read) !== words(once)) faults.push(`${name}: words`)
  }
  t.comment(`${asked.length} requests`)
  t.ok(asked.length > 400)
  t.same(faults, [])
})

function isUrl(source: object): boolean {
  return 'url' in source
}

function lasting(request: TextRequest): unknown {
  return plain(JSON.parse(JSON.stringify(request, (key, value) => (key === 'at' ? undefined : value))) as JsonObject)
}

function words({ system, turns }: TextRequest): string {
  const parts: readonly Part[] = turns.flatMap(turn =>
    turn.parts.flatMap((part): readonly Part[] => (part.type === 'result' ? part.parts : [part])),
  )
  const texts = [...system, ...parts].flatMap(part => ('text' in part ? [part.text] : []))
  return texts.filter(text => text !== '').join('|')
}
