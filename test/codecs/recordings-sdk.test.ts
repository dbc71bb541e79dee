import t from 'tap'
import { openApiFolder } from '../helpers/openapi.js'
import { sample } from '../helpers/sample.js'
import type { TextProtocol } from '../helpers/text-recordings.js'
import { bare, isConsistent } from './compare-answers.js'
import { Ledger } from './ledger.js'
import { othersThan, type RecordedAnswer, readRecorded } from './recorded.js'
import { REASONS, type SdkView, startSdkReader } from './sdk-readers.js'
import { answerTo, encodeAll, gistOf, requestOf, sseOf } from './support.js'

const { answers } = await readRecorded()
const skip = (answers.length === 0 || openApiFolder() === undefined) && 'no recordings'

t.test('recorded answers in each other protocol, read by the official SDKs', { skip }, async t => {
  const sdk = await startSdkReader(t)
  const ledger = new Ledger()
  // Custom tools are called by clients that declared some, and not every SDK knows them in streams.
  const usual = answers.filter(({ result }) => !JSON.stringify(result.candidates).includes('"custom":true'))
  for (const answer of sample('recorded answers', usual, 150)) {
    for (const { protocol: name, server } of othersThan(answer.codec)) {
      // Its SDK reads answers over HTTP alone: test/e2e/pairs has it.
      if (!Object.hasOwn(REASONS, name)) continue
      const protocol = name as TextProtocol
      const pair = `${answer.exchange.protocol} → ${protocol}`
      const body = JSON.stringify(server.encodeResult(answer.result, answerTo(requestOf())))
      await note(ledger, pair, protocol, answer, () => sdk.whole(protocol, body))

      const codec = othersThan(answer.codec).find(other => other.protocol === protocol)!
      const frames = encodeAll(codec, answer.events, answerTo(requestOf({ stream: true })))
      await note(ledger, `${pair} (stream)`, protocol, answer, () => sdk.stream(protocol, sseOf(frames).toString()))
    }
  }
  for (const line of ledger.lines()) t.comment(line)
  t.same(ledger.undeclared('read', 'text', 'calls', 'finish', 'usage', 'reasoning'), [])
})

async function note(
  ledger: Ledger,
  pair: string,
  protocol: TextProtocol,
  { exchange: { name }, result }: RecordedAnswer,
  read: () => Promise<SdkView>,
): Promise<void> {
  let view: SdkView
  try {
    view = await read()
  } catch (error) {
    ledger.note(pair, 'read', false, String(error).slice(0, 120), name)
    return
  }
  ledger.note(pair, 'read', true)
  const gist = gistOf(result)[0]!
  const same = (what: string, was: unknown, is: unknown): void => {
    const [a, b] = [JSON.stringify(was), JSON.stringify(is)]
    ledger.note(pair, what, a === b, `${a?.slice(0, 60)} became ${b?.slice(0, 60)}`, name)
  }
  if (gist.text !== '') same('text', gist.text, gist.refusal === '' ? view.text : view.text.replace(gist.refusal, ''))
  if (gist.calls.length > 0) same('calls', gist.calls, view.calls)
  if (gist.reasoning !== '') same('reasoning', bare(gist.reasoning), bare(view.reasoning))
  const reasons = REASONS[protocol][gist.reason as 'stop']
  if (reasons !== undefined && gist.refusal === '')
    ledger.note(pair, 'finish', reasons.includes(view.reason), `${gist.reason} became ${view.reason}`, name)
  const { input, output } = result.usage ?? {}
  if (result.usage === undefined || !isConsistent(result.usage)) return
  if (input !== undefined && output !== undefined) same('usage', [input, output], [view.input, view.output])
}
