import t, { type Test } from 'tap'
import { BASE, tryLoad } from './support.js'

/** What is wrong, but for protocols that no one speaks. */
async function reported(t: Test, yaml: string): Promise<readonly string[]> {
  const { reported } = await tryLoad(t, `${BASE}${yaml}`)
  return reported.filter(one => !one.startsWith('unspoken-protocol'))
}

const ROUTE = 'protocol: speech, '

t.test('words may stand for models, and nothing for one', async t => {
  const pointer = '{ from: body.bot, values: { FAST: swift }, default: sim-text }'
  const { config } = await tryLoad(t, `${BASE}routes: { POST /x: { protocol: chat, model: ${pointer} } }\n`)
  t.match(config?.routes['POST /x'], {
    model: { from: 'body', name: 'bot', values: { FAST: 'swift' }, byDefault: 'sim-text' },
    body: 'json',
  })
  const alone = await tryLoad(t, `${BASE}routes: { POST /x: { ${ROUTE}model: { from: query.bot } } }\n`)
  t.same(alone.config?.routes['POST /x']?.model, { from: 'query', name: 'bot' })
})

t.test('an invalid place of a model is reported', async t => {
  for (const pointer of [
    '{ from: header.authorization }',
    '{ values: { A: b } }',
    '{ from: body.bot, value: {} }',
    '[body.bot]',
  ]) {
    t.not((await reported(t, `routes: { POST /x: { ${ROUTE}model: ${pointer} } }\n`)).length, 0, pointer)
  }
  const [first] = await reported(t, `routes:\n  POST /x/{id}: { ${ROUTE}model: { from: path.bot } }\n`)
  t.match(first, /^unknown-parameter/)
})

t.test('prefixes are further paths of a route, and clash as paths do', async t => {
  const route = (more: string): string => `{ ${ROUTE}model: body.model${more} }`
  const fast = ', prefixes: { fast: { mode: fast } }'
  const { config } = await tryLoad(t, `${BASE}routes: { POST /x: ${route(fast)} }\n`)
  t.same(config?.routes['POST /x']?.prefixes, { fast: { mode: 'fast' } })
  t.match(await reported(t, `routes:\n  POST /x: ${route(fast)}\n  POST /fast/x: ${route('')}\n`), [/^route-clash/])
  for (const prefixes of ['{ a/b: {} }', '{ .: {} }', '{ fast: fast }', '{ fast: { mode: "" } }']) {
    t.not((await reported(t, `routes: { POST /x: ${route(`, prefixes: ${prefixes}`)} }\n`)).length, 0, prefixes)
  }
})

t.test('brackets of a call hold a parameter, and have a partner', async t => {
  const tell = async (text: string): Promise<readonly string[]> => {
    const speaks = `speaks: { chat: "POST ${text}" }`
    const yaml = BASE.replace('kind: simulator', `base: "https://k.example", ${speaks}`)
    return (await tryLoad(t, yaml)).reported
  }
  t.same(await tell('[/{mode}]/x'), [])
  t.same(await tell('/x[/{mode}]'), [])
  for (const text of ['/x[/fast]', '/x]', '/x[', '/x[[/{mode}]]', '/x[/{mode}'])
    t.match(await tell(text), [/^bad-call/], text)
  t.match(await tell('[{mode}]/x'), [/^bad-value/])
})

t.test('a model is served by protocols that some route has', async t => {
  const tell = async (names: string): Promise<readonly string[]> =>
    (await tryLoad(t, BASE.replace('sim-text: sim', `sim-text: { upstream: sim, protocols: ${names} }`))).reported
  t.same(await tell('[chat]'), [])
  t.match(await tell('[chatt]'), [/^dangling-reference/])
})

t.test('a route that begins tasks names a task in the body, a model, or either', async t => {
  const route = (more: string, task: string): string =>
    `routes: { POST /x: { ${ROUTE}${more}task: { kind: image, ${task} } } }\n`
  t.same(await reported(t, route('', 'of: body.taskId')), [])
  t.same(await reported(t, route('model: body.model, ', 'of: body.taskId')), [])
  t.match(await reported(t, route('', 'label: X')), [/^missing-key/])
  t.not((await reported(t, route('', 'of: query.taskId'))).length, 0)
  t.match(await reported(t, 'routes: { POST /x: { task: { kind: image, action: select } } }\n'), [/^missing-key/])
  t.same(await reported(t, 'routes: { POST /x: { task: { kind: image, action: select, of: body.ids } } }\n'), [])
})
