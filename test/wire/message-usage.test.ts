import t from 'tap'
import type { UsagePaths } from '../../src/core/plan.js'
import { MessageUsage } from '../../src/wire/message-usage.js'

const PATHS = { input: [['response', 'usage', 'input']], output: [['response', 'usage', 'output']] }

function count(messages: readonly string[], size = Number.POSITIVE_INFINITY, paths: UsagePaths = PATHS): unknown {
  const usage = new MessageUsage(['response.done'], paths)
  feed(usage, messages, size)
  return usage.usage
}

function feed(usage: MessageUsage, messages: readonly string[], size: number): void {
  for (const message of messages) {
    const bytes = Buffer.from(message)
    usage.begin()
    for (let at = 0; at < bytes.length; at += size) usage.push(bytes, at, Math.min(at + size, bytes.length))
    usage.end()
  }
}

const done = (input: number, output: number, text = ''): string =>
  `{"type":"response.done","response":{"output":"${text}","usage":{"input":${input},"output":${output}}}}`

t.test('a piece without bytes says nothing of a message', async t => {
  const usage = new MessageUsage(['response.done'], PATHS)
  const bytes = Buffer.from(done(1, 2))
  usage.begin()
  usage.push(bytes, 0, 0)
  usage.push(bytes, 0, bytes.length)
  usage.end()
  t.same(usage.usage, { input: 1, output: 2 })
})

t.test('usage of the messages that count is added up, cut anywhere', async t => {
  const messages = [
    '{"type":"response.output_audio.delta","usage":{"input":9}}',
    done(1, 2),
    '{}',
    'no json',
    done(3, 4),
  ]
  for (const size of [1, 2, 7, 9, 10, 23, 1000]) t.same(count(messages, size), { input: 4, output: 6 }, `${size} bytes`)
})

t.test('messages of an answer are unreported until the message that reports their usage', async t => {
  const events = [
    '{"type":"response.delta","x":1}',
    '{"x":1,"type":"response.delta"}',
    '{"type":"session.updated","x":"xx"}',
  ]
  for (const size of [1, 9, 1000]) {
    const usage = new MessageUsage(['response.done'], PATHS)
    feed(usage, [...events, 'no json', ...events], size)
    t.same(usage.unreported, { bytes: 124, events: 4 }, `${size} bytes`)
    feed(usage, [done(1, 2), events[2] ?? ''], size)
    t.same(usage.unreported, { bytes: 0, events: 0 })
  }
})

const HEARD = 'conversation.item.input_audio_transcription.completed'

t.test('transcripts report tokens or seconds, and leave what is unreported of an answer as it was', async t => {
  const paths = {
    input: [
      ['response', 'usage', 'input'],
      ['usage', 'input'],
    ],
    seconds: [['usage', 'seconds']],
  }
  const heard = (used: string): string => `{"type":"${HEARD}","item_id":"i","transcript":"Hello.","usage":${used}}`
  const said = [
    `{"type":"response.delta","x":1}`,
    heard('{"type":"tokens","input":13}'),
    `{"type":"conversation.item.added","item":{}}`,
    heard('{"type":"duration","seconds":1.5}'),
    `{"type":"response.delta","x":2}`,
    heard('null'),
  ]
  for (const size of [1, 9, 1000]) {
    const usage = new MessageUsage(['response.done', HEARD], paths)
    feed(usage, said, size)
    t.same(usage.usage, { input: 13, seconds: 1.5 }, `${size} bytes`)
    t.same(usage.unreported, { bytes: 62, events: 2 }, 'the answer is not counted yet')
    feed(usage, [done(1, 2)], size)
    t.same(usage.usage, { input: 14, seconds: 1.5 })
    t.same(usage.unreported, { bytes: 0, events: 0 })
  }
})

t.test('the type may be anywhere in the message', async t => {
  const message = '{ "response": {"usage":{"input":5,"output":6}}, "type": "response.done" }'
  t.same(count([message]), { input: 5, output: 6 })
  t.equal(count(['{"response":{"usage":{"input":5}},"type":"response.created"}']), undefined)
})

t.test('messages without a type count, and all do where no type is named', async t => {
  t.same(count(['{"response":{"usage":{"input":5}}}', '{"event_id":"e","x":1}']), { input: 5 })
  const usage = new MessageUsage([], PATHS)
  for (const message of ['{"type":"any","response":{"usage":{"input":5}}}', '{"response":{"usage":{"output":6}}}']) {
    usage.begin()
    usage.push(Buffer.from(message), 0, message.length)
    usage.end()
  }
  t.same(usage.usage, { input: 5, output: 6 })
})

t.test('a long message whose type is behind an id, or at its end, counts', async t => {
  const usage = `"response":{"output":"${'x'.repeat(40_000)}","usage":{"input":7}}`
  for (const size of [1000, 17_000, 100_000]) {
    t.same(count([`{"event_id":"event_1","type":"response.done",${usage}}`], size), { input: 7 })
    t.same(count([`{"event_id":"event_1",${usage},"type":"response.done"}`], size), { input: 7 })
  }
})

t.test('sounds are not read', async t => {
  t.equal(count(['\u0001{"response":{"usage":{"input":5}}}', '\u00ff\u00fe']), undefined)
})

t.test('of a message that is too long to be parsed its end is read', async t => {
  t.same(count([done(7, 8, 'x'.repeat(100_000))], 4096), { input: 7, output: 8 })
})

t.test('a number that may be at two places counts once, however long the message is', async t => {
  const paths = {
    input: [
      ['response', 'usage', 'input'],
      ['usage', 'input'],
    ],
  }
  const inside = (text: string): string => `{"type":"response.done","response":{"x":"${text}","usage":{"input":7}}}`
  const beside = (text: string): string =>
    `{"type":"response.done","response":{"x":"${text}","usage":{}},"usage":{"input":7}}`
  for (const message of [inside(''), beside(''), inside('x'.repeat(100_000)), beside('x'.repeat(100_000))])
    t.same(count([message], 4096, paths), { input: 7 }, message.slice(-80))
})

t.test('what is not a message of that type counts for nothing', async t => {
  t.equal(count(['{"type":"response.done.not","response":{"usage":{"input":1}}}', '"response.done"', '']), undefined)
})
