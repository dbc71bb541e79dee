import t from 'tap'
import { fold } from '../../src/codecs/fold.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import type { TextRequest } from '../../src/core/text.js'
import { type OpenApiName, openApi, openApiFolder } from '../helpers/openapi.js'
import { EVERYTHING, sample } from '../helpers/sample.js'
import { sseFrames, type TextExchange } from '../helpers/text-recordings.js'
import { compareAnswers } from './compare-answers.js'
import { compareRequests } from './compare-requests.js'
import { Ledger } from './ledger.js'
import { assembled, sealsBack } from './next-turn.js'
import { codecOf, othersThan, readRecorded } from './recorded.js'
import {
  answerTo,
  brief,
  decodeAll,
  encodeAll,
  faultsOf,
  isTerminal,
  onlyGatewayErrors,
  plain,
  requestOf,
  targetOf,
} from './support.js'

const { exchanges, answers, unread } = await readRecorded()
const skip = (exchanges.length === 0 || openApiFolder() === undefined) && 'no reference data'

/** Answers that break off, hold an error, or are not answers of their protocol: read as far as they go, then an error. */
const BROKEN: readonly RegExp[] = [
  // An error event in the middle.
  /test_tool_use_failed_error_streaming\.yaml #0: upstream_failed/,
  /test_openrouter_stream_error\.yaml #0: upstream_failed/,
  // No [DONE] after the last chunk.
  /perplexity_sonar_supports_streaming_responses\.yml #0: upstream_truncated/,
  // An answer of another protocol.
  /azure-deepseek-reasoning\.1\.json: bad_upstream_response/,
  // Two streams in one file.
  /spliced-message-start\.chunks\.txt: bad_upstream_response/,
  /cererebras-structured-output-tools\.1\.chunks\.txt: bad_upstream_response/,
]

t.test('every recorded answer can be read', { skip }, async t => {
  t.comment(`${answers.length} of ${answers.length + unread.length}`)
  for (const one of unread) t.comment(`  ${one}`)
  t.same(
    unread.filter(one => !BROKEN.some(pattern => pattern.test(one))),
    [],
  )
})

/** What has to come through whole, unless the encoder says what it loses. */
const KEPT = ['text', 'calls', 'JSON', 'usage', 'finish', 'refusal', 'reasoning', 'media', 'seals']

t.test('recorded answers in each other protocol', { skip }, async t => {
  const ledger = new Ledger()
  const faults: string[] = []
  for (const { exchange, codec: own, result, events: sent } of answers) {
    for (const codec of othersThan(own)) {
      const pair = `${exchange.protocol} → ${codec.protocol}`
      const whole = answerTo(requestOf())
      const body = plain(codec.server.encodeResult(result, whole)) as JsonObject
      faults.push(...invalid(`${codec.protocol}.response`, [body], `${pair} ${exchange.name}`))
      const back = sealsBack(codec, body)
      compareAnswers(ledger, pair, exchange.name, result, codec.client.decodeResult(body), whole.lost, back)

      const streamed = answerTo(requestOf({ stream: true }))
      const frames = encodeAll(codec, sent, streamed)
      const documents = frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as Json)
      faults.push(...invalid(`${codec.protocol}.event`, documents, `${pair} (stream) ${exchange.name}`))
      const events = decodeAll(codec, frames)
      faults.push(...faultsOf(events).map(fault => `${pair} (stream): ${fault}: ${exchange.name}`))
      const sum = fold(events)
      const streamedBack = sealsBack(codec, assembled(codec.protocol, frames))
      compareAnswers(ledger, `${pair} (stream)`, exchange.name, result, sum, streamed.lost, streamedBack)
    }
  }
  for (const line of ledger.lines()) t.comment(line)
  t.same(summed(faults), [])
  t.same(summed(ledger.undeclared(...KEPT)), [])
})

function invalid(name: string, documents: readonly Json[], where: string): string[] {
  const check = openApi(name as OpenApiName)
  return documents.flatMap(document => check(document).slice(0, 1)).map(fault => `${fault}: ${where}`)
}

/** Each kind of fault once, with its number and an example. */
function summed(faults: readonly string[]): readonly string[] {
  const kinds = new Map<string, string[]>()
  for (const fault of faults) {
    const kind = fault
      .replace(/\[\d+\]/g, '[]')
      .split(': ', 2)
      .join(': ')
    kinds.set(kind, [...(kinds.get(kind) ?? []), fault])
  }
  return [...kinds].map(([kind, all]) => `${all.length} × ${kind} (${all[0]?.slice(-120)})`)
}

const asked = exchanges.filter(({ status, request }) => status < 300 && request !== undefined)

function readRequest(exchange: TextExchange): TextRequest | GatewayError {
  const { request = {}, frames, model } = exchange
  const head = { model: model ?? String(request.model ?? 'm'), stream: frames !== undefined }
  return onlyGatewayErrors(() => codecOf(exchange)!.server.decodeRequest(request, head))
}

t.test('every recorded request can be read', { skip }, async t => {
  const refused = asked.flatMap(exchange => {
    const request = readRequest(exchange)
    return request instanceof GatewayError ? [`${exchange.name}: ${request.message}`] : []
  })
  t.comment(`${asked.length - refused.length} of ${asked.length}`)
  t.same(refused, [])
})

t.test('recorded requests in each other protocol', { skip }, async t => {
  const ledger = new Ledger()
  const faults: string[] = []
  for (const exchange of asked) {
    const request = readRequest(exchange)
    if (request instanceof GatewayError) continue
    for (const codec of othersThan(codecOf(exchange)!)) {
      const pair = `${exchange.protocol} → ${codec.protocol}`
      const target = targetOf(codec)
      const body = onlyGatewayErrors(() => plain(codec.client.encodeRequest(request, target)) as JsonObject)
      if (body instanceof GatewayError) {
        const why = body.message.replace(/\[\d+\]/g, '[]').replace(/'\w{20,}'/, '…')
        ledger.note(pair, 'sent', false, `${body.code}: ${why}`, exchange.name)
        if (body.status >= 500) faults.push(`${body.message}: ${pair} ${exchange.name}`)
        continue
      }
      ledger.note(pair, 'sent', true)
      const found = invalid(`${codec.protocol}.request`, [body], `${pair} ${exchange.name}`)
      faults.push(...found)
      ledger.note(pair, 'valid', found.length === 0, found[0], exchange.name)
      const left = request.left.map(({ field }) => `${exchange.protocol}'s ${field.replace(/\[\d+\]/g, '[]')}`)
      const lost = [...new Set([...target.lost.map(({ field }) => field), ...left])]
      ledger.note(pair, 'whole', lost.length === 0, lost.sort().join(', '), exchange.name)
      const head = { model: 'upstream-model', stream: request.stream }
      const back = onlyGatewayErrors(() => codec.server.decodeRequest(body, head))
      ledger.note(pair, 'read', !(back instanceof GatewayError), String(back), exchange.name)
      if (!(back instanceof GatewayError)) compareRequests(ledger, pair, exchange.name, request, back, lost)
    }
  }
  for (const line of ledger.lines()) t.comment(line)
  t.same(summed(faults), [])
  t.same(summed(ledger.undeclared('valid', 'text', 'calls', 'results', 'tools', 'format')), [])
})

/** An upstream that says in the middle that it has finished, in a protocol without any other end. */
const ENDS_EARLY = /should_call_server_side_MCP_server,_stream\.json/

/** A chat stream that has told how its choice ended is whole, also without `[DONE]`. */
const TELLS_END = /"finish_reason":\s*"/

t.test('a recorded stream that is cut after any frame gives an error, and never an end', { skip }, async t => {
  const faults: string[] = []
  for (const { exchange, codec } of sample(
    'recorded streams cut after frames',
    answers.filter(({ exchange }) => exchange.frames !== undefined && !ENDS_EARLY.test(exchange.name)),
    60,
  )) {
    const decoder = codec.client.decodeStream()
    const { frames = [] } = exchange
    const finishing = frames.findIndex(
      frame => decoder.push(frame).some(isTerminal) || (codec.protocol === 'chat' && TELLS_END.test(frame.data)),
    )
    const last = finishing < 0 ? frames.length : finishing
    const step = EVERYTHING ? 1 : Math.max(1, Math.floor(last / 40))
    for (let cut = 0; cut < last; cut += step) {
      const terminals = decodeAll(codec, frames.slice(0, cut)).filter(isTerminal)
      if (terminals.length !== 1 || terminals[0]?.type !== 'error')
        faults.push(`${exchange.name} after ${cut} of ${frames.length}: ${brief(terminals, 100)}`)
    }
  }
  t.same(faults.slice(0, 10), [], `${faults.length} faults`)
})

t.test('a recorded stream whose bytes are cut in two anywhere is the same frames', { skip }, async t => {
  const streams = exchanges.flatMap(({ bytes, name }) => (bytes === undefined ? [] : [{ bytes, name }]))
  for (const { bytes, name } of sample('recorded streams cut in two', streams, 20)) {
    const whole = textOf(bytes)
    const step = EVERYTHING ? 1 : Math.max(1, Math.floor(bytes.length / 50))
    let different = 0
    for (let at = 0; at <= bytes.length; at += step)
      if (textOf(bytes.subarray(0, at), bytes.subarray(at)) !== whole) different += 1
    t.equal(different, 0, name)
  }
})

function textOf(...pieces: readonly Uint8Array[]): string {
  return sseFrames(...pieces)
    .map(({ event = '', data }) => `${event}\n${data}\n`)
    .join('')
}
