import t from 'tap'
import { Protocols } from '../../src/plan/protocols.js'
import { tryPlan } from '../helpers/plans.js'

t.test('a protocol that nothing is said of is relayed as it is', async t => {
  const plain = new Protocols({}).get('chat')
  t.same(plain, {
    name: 'chat',
    end: undefined,
    binary: undefined,
    streamError: 'family',
    usage: undefined,
    messages: { counted: [], errorEvent: false },
    subprotocols: undefined,
    unknownModel: undefined,
  })
})

t.test('what is said of a protocol is taken apart', async t => {
  const protocol = new Protocols({
    chat: {
      end: { data: '[DONE]' },
      stream_error: 'responses',
      usage: { input: ['usage.prompt_tokens', 'usage.cached'], total: 'a\\.b.c' },
      unknown_model: { status: 400, param: 'model' },
    },
  }).get('chat')
  t.same(protocol, {
    name: 'chat',
    end: { data: '[DONE]', events: [], members: [], repeats: false },
    binary: false,
    streamError: 'responses',
    usage: {
      input: [
        ['usage', 'prompt_tokens'],
        ['usage', 'cached'],
      ],
      total: [['a.b', 'c']],
    },
    messages: { counted: [], errorEvent: false },
    subprotocols: undefined,
    unknownModel: { status: 400, param: 'model', message: undefined },
  })
})

t.test('what a tunnel reads and which subprotocols it knows is taken apart', async t => {
  const { messages, subprotocols } = new Protocols({
    talk: {
      messages: { model: ['session.model'], counted: ['done'] },
      subprotocols: { pass: ['talk', 'beta.*'], answer: ['talk'] },
    },
  }).get('talk')
  t.same(messages, { counted: ['done'], errorEvent: false })
  t.same(subprotocols?.answer, ['talk'])
  t.same(
    ['talk', 'beta.1', 'key.x'].map(name => subprotocols?.pass(name)),
    [true, true, false],
  )
})

t.test('routes that speak the same get the same object', async t => {
  const protocols = new Protocols({ chat: {} })
  t.equal(protocols.get('chat'), protocols.get('chat'))
})

t.test('a protocol may be called like a built-in', async t => {
  t.match(new Protocols({}).get('constructor'), { name: 'constructor', usage: undefined })
})

t.test('a path of usage may choose an element of a list by a member, other paths may not', async t => {
  const problems = async (usage: string, amounts = '{}'): Promise<readonly string[]> => {
    const protocols = `protocols:\n  own:\n    usage:\n      input: ${usage}\n    amounts: ${amounts}\n`
    const { problems } = await tryPlan(t, `version: 1\n${protocols}`)
    return problems.filter(({ severity }) => severity === 'error').map(({ message }) => message)
  }
  for (const path of ['usage.tokens', 'usage.details.[kind=sound].tokens', 'usage.*.[a-b=c_d].0.tokens', 'a.\\[b.c'])
    t.same(await problems(path), [], path)
  t.same(await problems('[usage.a, "usage.list.[kind=sound].n"]'), [])
  for (const path of ['usage.[kind].n', 'usage.[=sound].n', 'usage[kind=sound].n', '"[kind=sound].n"', 'a.[b=c]'])
    t.match((await problems(path))[0], /expected a path such as usage\.input_tokens or usage\.details\.\[kind=/, path)
  t.match((await problems('usage.tokens', '{ output: "a.[b=c].d" }'))[0], /without brackets/)
})
