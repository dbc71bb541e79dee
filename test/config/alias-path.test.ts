import t, { type Test } from 'tap'
import { BASE, tryLoad } from './support.js'

/** What is wrong, but for protocols that no one speaks. */
async function reported(t: Test, routes: string): Promise<readonly string[]> {
  const { reported } = await tryLoad(t, `${BASE}routes:\n${routes}`)
  return reported.filter(one => !one.startsWith('unspoken-protocol')).map(one => one.split(' ')[0] as string)
}

const at = (key: string, also = ''): string =>
  `  ${key}: { protocol: speech, model: body.model${also === '' ? '' : `, also: ${also}`} }\n`

t.test('another path of a route is read, its headers in lower case', async t => {
  const { config } = await tryLoad(
    t,
    `${BASE}routes:\n${at('POST /x/{id}', '{ path: "/y/{id}", with: [X-One, x-two] }')}`,
  )
  t.same(config?.routes['POST /x/{id}']?.also, { path: '/y/{id}', with: ['x-one', 'x-two'] })
  const plain = await tryLoad(t, `${BASE}routes:\n${at('POST /x', '{ path: /y }')}`)
  t.same(plain.config?.routes['POST /x']?.also, { path: '/y', with: [] })
})

t.test('it is a path that a route can have, with the same parameters', async t => {
  t.same(await reported(t, at('POST /x', '{ path: /y//z }')), ['bad-route'])
  t.same(await reported(t, at('POST /x', '{ path: /livez }')), ['reserved-route'])
  t.same(await reported(t, at('POST /x/{id}', '{ path: /y }')), ['missing-key'])
  t.same(await reported(t, at('POST /x', '{ path: "/y/{id}" }')), ['unknown-parameter'])
  for (const also of [
    '/y',
    '{}',
    '{ path: y }',
    '{ path: /y, with: [] }',
    '{ path: /y, with: ["a b"] }',
    '{ path: /y, x: 1 }',
  ])
    t.not((await reported(t, at('POST /x', also))).length, 0, also)
})

t.test('two routes have it in common only where headers tell their requests apart', async t => {
  const marked = '{ path: /y, with: [x-one, x-two] }'
  t.same(await reported(t, at('POST /x', marked) + at('POST /y')), [])
  t.same(await reported(t, at('POST /x', marked) + at('POST /z', '{ path: /y, with: [x-three] }')), [])
  t.same(await reported(t, at('POST /x', marked) + at('POST /z', '{ path: /y, with: [X-Two] }')), ['route-clash'])
  t.same(await reported(t, at('POST /x', '{ path: /y }') + at('POST /y')), ['route-clash'])
  t.same(await reported(t, at('POST /x', '{ path: /x }')), ['route-clash'])
})
