import t from 'tap'
import type { Family } from '../../src/core/errors.js'
import type { Placement } from '../../src/core/placement.js'
import type { FamilyMark } from '../../src/core/route-settings.js'
import { NotFoundForms, wrongMethod } from '../../src/plan/not-found.js'
import { parsePattern } from '../../src/plan/pattern.js'

const BEARER: Placement = { in: 'header', name: 'authorization', scheme: 'Bearer' }
const HEADER: Placement = { in: 'header', name: 'x-key' }
const QUERY: Placement = { in: 'query', name: 'key' }
const MARK: FamilyMark = { family: 'messages', header: 'x-version' }

function formsOf(routes: readonly (readonly [id: string, errors: Family, ...caller: Placement[]])[]): NotFoundForms {
  const forms = new NotFoundForms()
  for (const [id, errors, ...caller] of routes) forms.add(parsePattern(id), { errors, caller })
  return forms
}

const SURFACE = formsOf([
  ['POST /v1/chat/completions', 'compatible', BEARER],
  ['GET /v1/models', 'compatible', BEARER],
  ['POST /v1/messages', 'messages', HEADER, BEARER],
  ['POST /v1beta/models/{model}:generate', 'native', HEADER],
  ['GET /v1beta/models', 'native', HEADER, QUERY],
  ['POST /mj/submit', 'image-tasks', BEARER],
])

const FAMILIES: readonly (readonly [path: string, family: Family])[] = [
  ['/', 'compatible'],
  ['/nothing/like/it', 'compatible'],
  ['/v1/chat', 'compatible'],
  ['/v1/unknown', 'compatible'],
  ['/v1/messages/batches', 'messages'],
  ['/v1/messagesx', 'compatible'],
  ['/v1beta', 'native'],
  ['/v1beta/models/x:unknown', 'native'],
  ['/v1betax', 'compatible'],
  ['/mj/task/1', 'image-tasks'],
  ['/constructor/__proto__', 'compatible'],
]

for (const [path, family] of FAMILIES) {
  t.test(`${path} is refused in the shape of family ${family}`, async t =>
    t.equal(SURFACE.at(path, 404, {}).errors, family),
  )
}

t.test("keys are read wherever the family's routes read them, each place once", async t => {
  t.same(SURFACE.at('/v1beta/x', 404, {}).caller, [HEADER, QUERY])
  t.same(SURFACE.at('/v1/messages/x', 404, {}).caller, [HEADER, BEARER])
  t.same(SURFACE.at('/v1/x', 404, {}).caller, [BEARER])
})

t.test('of several families below a path the first in the file answers', async t => {
  const forms = formsOf([
    ['GET /a/x', 'native', HEADER],
    ['GET /a/y', 'compatible', BEARER],
  ])
  t.equal(forms.at('/a/z', 404, {}).errors, 'native')
})

t.test('without routes the default placement and family apply', async t => {
  t.same(new NotFoundForms().at('/x', 400, {}), {
    route: undefined,
    status: 400,
    allow: [],
    caller: [BEARER],
    errors: 'compatible',
    families: [],
  })
})

t.test('a wrong method is answered in the family of the path, with its methods sorted and each once', async t => {
  const owners = [
    { method: 'POST', errors: 'native', caller: [HEADER], families: [] },
    { method: 'GET', errors: 'native', caller: [HEADER, QUERY], families: [MARK] },
    { method: 'POST', errors: 'native', caller: [], families: [] },
  ] as const
  const miss = wrongMethod(owners, 'PUT')
  const caller = [HEADER, QUERY]
  const families = [MARK]
  t.same(miss, { route: undefined, status: 405, allow: ['GET', 'POST'], caller, errors: 'native', families })
})

t.test('a plain GET of a WebSocket path gets 426, other methods get 405 with GET allowed', t => {
  const owners = [{ method: 'WS', errors: 'compatible', caller: [], families: [] }] as const
  t.match(wrongMethod(owners, 'GET'), { status: 426 })
  t.match(wrongMethod(owners, 'POST'), { status: 405, allow: ['GET'] })
  t.end()
})
