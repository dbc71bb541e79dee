import t from 'tap'
import type { Match, Miss, Route } from '../../src/core/plan.js'
import { parsePattern, prefixed } from '../../src/plan/pattern.js'
import { Router } from '../../src/plan/router.js'

type Parts = Partial<Pick<Route, 'errors' | 'caller'>>

function routeAt(id: string, parts: Parts): Route {
  const method = id.slice(0, id.indexOf(' '))
  return { id, method, errors: 'compatible', caller: [], families: [], ...parts } as unknown as Route
}

function routerOf(ids: readonly string[], parts: Parts = {}): Router {
  const router = new Router()
  for (const id of ids) router.add(parsePattern(id), routeAt(id, parts))
  return router
}

/** The matched route's key with its parameters, or the status of the miss. */
function outcome(found: Match | Miss): unknown {
  return found.route === undefined ? found.status : [found.route.id, { ...found.params }]
}

const SURFACE = routerOf([
  'GET /',
  'POST /v1/chat/completions',
  'GET /v1/models',
  'GET /v1/models/{id*}',
  'POST /v1/models/special',
  'GET /v1/files/{id}',
  'DELETE /v1/files/{file}',
  'GET /v1/files/{id}/content',
  'GET /v1/files/latest',
  'POST /v1beta/models/{model}:generateContent',
  'POST /v1beta/models/{model}:streamGenerateContent',
  'GET /v1beta/models/{model}',
])

const MATCHES: readonly (readonly [request: string, outcome: unknown])[] = [
  ['GET /', ['GET /', {}]],
  ['POST /v1/chat/completions', ['POST /v1/chat/completions', {}]],
  ['GET /v1/models/org/name', ['GET /v1/models/{id*}', { id: 'org/name' }]],
  ['GET /v1/models/org%2Fname', ['GET /v1/models/{id*}', { id: 'org/name' }]],
  ['GET /v1/models/special', ['GET /v1/models/{id*}', { id: 'special' }]],
  ['POST /v1/models/special', ['POST /v1/models/special', {}]],
  ['GET /v1/files/a%20b', ['GET /v1/files/{id}', { id: 'a b' }]],
  ['DELETE /v1/files/x', ['DELETE /v1/files/{file}', { file: 'x' }]],
  ['GET /v1/files/latest', ['GET /v1/files/latest', {}]],
  ['DELETE /v1/files/latest', ['DELETE /v1/files/{file}', { file: 'latest' }]],
  ['GET /v1/files/latest/content', ['GET /v1/files/{id}/content', { id: 'latest' }]],
  ['POST /v1beta/models/m:generateContent', ['POST /v1beta/models/{model}:generateContent', { model: 'm' }]],
  ['POST /v1beta/models/m:8b:generateContent', ['POST /v1beta/models/{model}:generateContent', { model: 'm:8b' }]],
  [
    'POST /v1beta/models/m:streamGenerateContent',
    ['POST /v1beta/models/{model}:streamGenerateContent', { model: 'm' }],
  ],
  ['GET /v1beta/models/m:generateContent', ['GET /v1beta/models/{model}', { model: 'm:generateContent' }]],
  ['GET /v1beta/models/__proto__', ['GET /v1beta/models/{model}', { model: '__proto__' }]],
]

for (const [request, expected] of MATCHES) {
  t.test(`${request} is matched`, async t => {
    const [method = '', path = ''] = request.split(' ')
    t.same(outcome(SURFACE.match(method, path)), expected)
  })
}

t.test('no owner: 404; owned by another method: 405; no path at all: 400', async t => {
  t.equal(outcome(SURFACE.match('GET', '/v2')), 404)
  t.equal(outcome(SURFACE.match('POST', '/v1/models')), 405)
  t.equal(outcome(SURFACE.match('GET', 'http://x/v1/models')), 400)
})

t.test('HEAD and OPTIONS are methods like any other', async t => {
  t.equal(outcome(SURFACE.match('HEAD', '/v1/models')), 405)
  t.equal(outcome(SURFACE.match('OPTIONS', '/v1/models')), 405)
  t.same(outcome(routerOf(['HEAD /x']).match('HEAD', '/x')), ['HEAD /x', {}])
})

t.test('methods are compared with their case', async t => t.equal(outcome(SURFACE.match('get', '/v1/models')), 405))

t.test('a slash at the end or two in a row match nothing, not even a tail', async t => {
  for (const path of ['/v1/models/', '//v1/models', '/v1//models', '/v1/models//a', '/v1/models/a/', '//']) {
    t.equal(outcome(SURFACE.match('GET', path)), 404, path)
  }
})

t.test('a parameter is never empty', async t => {
  t.equal(outcome(SURFACE.match('POST', '/v1beta/models/:generateContent')), 404)
  t.equal(outcome(SURFACE.match('GET', '/v1/files//content')), 404)
})

t.test('405 lists every method of every pattern that the path matches, sorted', async t => {
  const miss = SURFACE.match('PATCH', '/v1/models/special')
  t.same(miss.route === undefined && miss.allow, ['GET', 'POST'])
  const files = SURFACE.match('POST', '/v1/files/latest')
  t.same(files.route === undefined && files.allow, ['DELETE', 'GET'])
})

t.test('parameters are decoded once', async t => {
  t.same(outcome(SURFACE.match('GET', '/v1/files/a%252fb')), ['GET /v1/files/{id}', { id: 'a%2fb' }])
})

t.test('parameters are those of the path, and nothing that objects have of themselves', async t => {
  for (const path of ['/v1/files/x', '/v1/models']) {
    const found = SURFACE.match('GET', path)
    const params: object = found.route === undefined ? {} : found.params
    for (const name of ['constructor', 'toString', '__proto__', '']) t.notOk(name in params, `${path}: ${name}`)
  }
})

/** Each tries to reach another route, or to smuggle a segment into a parameter. */
const TRICKS: readonly (readonly [path: string, outcome: unknown])[] = [
  ...['/v1/files/..', '/v1/files/.', '/v1/files/../models', '/v1/files/./content', '/v1/chat/../models'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/%2e', '/v1/files/%2e%2e', '/v1/files/%2E%2E', '/v1/files/.%2e', '/v1/files/%2e.'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/%2e%2e/models', '/v1/files/%2e%2e%2fmodels', '/v1/files/..%2fmodels', '/v1/files/..%2Fmodels'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/x%2f..%2f..%2fadmin', '/v1/files/x%2F%2e%2e%2Fy', '/v1/models/x/../../admin'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/models/..%2f..%2fmanagement%2ffoo', '/v1/models/%2e%2e/%2e%2e/management'].map(path => [path, 400] as const),
  ...['/v1/files/..\\models', '/v1/files/..%5cmodels', '/v1/files/%5c', '/v1/files/x%5C..%5Cy', '/v1\\models'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/..;/models', '/v1/files/..;x/models', '/v1/files/..%3b/models', '/v1/files/.;/x'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/%00', '/v1/files/x%00.txt', '/v1/files/x%0d%0ahost:y', '/v1/files/x%0a', '/v1/files/%7f'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/%c0%ae%c0%ae', '/v1/files/%c0%af', '/v1/files/%e0%80%ae', '/v1/files/%fe', '/v1/files/%ed%a0%80'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/%', '/v1/files/%2', '/v1/files/%zz', '/v1/files/%u002e%u002e', '/v1/files/%%32%65'].map(
    path => [path, 400] as const,
  ),
  ...['/v1/files/x#y', '/v1/files/x\ty', '/v1/files/ü', '/v1/files/x y'].map(path => [path, 400] as const),
  ...['/v1/files%2flatest', '/v1%2ffiles/latest', '/%76%31/files/latest', '/v1/file%73/latest', '/V1/files/x'].map(
    path => [path, 404] as const,
  ),
  ...['/v1/files/x/content%2f', '/v1/files/x/conten%74', '/v1/files/x/y/content', '/v1/files/x//content'].map(
    path => [path, 404] as const,
  ),
  ['/v1/files/%2f', ['GET /v1/files/{id}', { id: '/' }]],
  ['/v1/files/a%2fcontent', ['GET /v1/files/{id}', { id: 'a/content' }]],
  ['/v1/files/%252e%252e', ['GET /v1/files/{id}', { id: '%2e%2e' }]],
  ['/v1/files/%252e%252e%252fadmin', ['GET /v1/files/{id}', { id: '%2e%2e%2fadmin' }]],
  ['/v1/files/%EF%BC%8E%EF%BC%8E', ['GET /v1/files/{id}', { id: '．．' }]],
  ['/v1/files/...', ['GET /v1/files/{id}', { id: '...' }]],
  ['/v1/files/%6catest', ['GET /v1/files/{id}', { id: 'latest' }]],
  ['/v1beta/models/m%3AgenerateContent', ['GET /v1beta/models/{model}', { model: 'm:generateContent' }]],
  ['/v1beta/models/m:generateConten%74', ['GET /v1beta/models/{model}', { model: 'm:generateContent' }]],
  ['/v1beta/models/m:generateContent:x', ['GET /v1beta/models/{model}', { model: 'm:generateContent:x' }]],
]

t.test(`F-C14 there are at least 60 tricks (${TRICKS.length})`, async t => t.ok(TRICKS.length >= 60))

for (const [path, expected] of TRICKS) {
  t.test(`F-C14 GET ${JSON.stringify(path)} reaches ${JSON.stringify(expected)}`, async t => {
    t.same(outcome(SURFACE.match('GET', path)), expected)
  })
}

t.test('F-C14 an escaped suffix does not reach the route of the suffix', async t => {
  t.equal(outcome(SURFACE.match('POST', '/v1beta/models/m%3AgenerateContent')), 405)
  t.equal(outcome(SURFACE.match('POST', '/v1beta/models/m:generatecontent')), 404)
  t.equal(outcome(SURFACE.match('POST', '/v1beta/models/m')), 405, 'what has no verb has another method')
})

const VERBS = routerOf([
  'POST /v1beta/models/{model}:predict',
  'POST /v1beta/models/{model}:predictLongRunning',
  'GET /v1beta/models/{model}/operations/{id}',
  'POST /v1beta/models/{model}/operations/{id}:cancel',
  'GET /v1beta/models/{model*}',
  'POST /v1beta/{rest*}',
  'POST /notes/{id}.text',
])

const WITH_SLASHES: readonly (readonly [request: string, outcome: unknown])[] = [
  ['POST /v1beta/models/a/b:predict', ['POST /v1beta/models/{model}:predict', { model: 'a/b' }]],
  ['POST /v1beta/models/a/b:8b/c%2Fd:predict', ['POST /v1beta/models/{model}:predict', { model: 'a/b:8b/c/d' }]],
  ['POST /v1beta/models/a/b:predictLongRunning', ['POST /v1beta/models/{model}:predictLongRunning', { model: 'a/b' }]],
  ['GET /v1beta/models/a/operations/b', ['GET /v1beta/models/{model}/operations/{id}', { model: 'a', id: 'b' }]],
  [
    'POST /v1beta/models/a/operations/b:cancel',
    ['POST /v1beta/models/{model}/operations/{id}:cancel', { model: 'a', id: 'b' }],
  ],
  ['POST /v1beta/models/a/operations/b:predict', ['POST /v1beta/models/{model}:predict', { model: 'a/operations/b' }]],
  ['GET /v1beta/models/a/b:predict', ['GET /v1beta/models/{model*}', { model: 'a/b:predict' }]],
  ['POST /v1beta/models/a/:predict', ['POST /v1beta/{rest*}', { rest: 'models/a/:predict' }]],
  ['POST /v1beta/models/a/b:other', ['POST /v1beta/{rest*}', { rest: 'models/a/b:other' }]],
  ['POST /v1beta/models/a/b%3Apredict', ['POST /v1beta/{rest*}', { rest: 'models/a/b:predict' }]],
  ['PUT /v1beta/models/a/b:predict', 405],
  ['POST /notes/a.text', ['POST /notes/{id}.text', { id: 'a' }]],
  ['POST /notes/a/b.text', 404],
]

for (const [request, expected] of WITH_SLASHES) {
  t.test(`a name before a verb may have slashes, and what is one segment comes first: ${request}`, async t => {
    const [method = '', path = ''] = request.split(' ')
    t.same(outcome(VERBS.match(method, path)), expected)
  })
}

t.test('a verb of another route comes before a tail at the same place', async t => {
  const router = routerOf(['POST /v1beta/models/{model}:predict', 'POST /v1beta/models/{rest*}'])
  const found = (path: string): unknown => outcome(router.match('POST', `/v1beta/models/${path}`))
  for (const model of ['m', 'maker/m'])
    t.same(found(`${model}:predict`), ['POST /v1beta/models/{model}:predict', { model }])
  for (const rest of ['m', 'm:other', 'm%3Apredict', 'm:predict/a'])
    t.same(found(rest), ['POST /v1beta/models/{rest*}', { rest: decodeURIComponent(rest) }])
})

t.test('F-C12 a path of 1 MiB is matched in one pass', async t => {
  const id = 'x'.repeat(1 << 20)
  t.same(outcome(SURFACE.match('GET', `/v1/files/${id}`)), ['GET /v1/files/{id}', { id }])
  t.equal(outcome(SURFACE.match('GET', '/a'.repeat(1 << 19))), 404)
  t.equal(outcome(SURFACE.match('GET', `/v1/models${'/a'.repeat(1 << 19)}`) as Match)?.constructor, Array)
  t.ok(SURFACE.match('POST', `/v1beta/models${'/a'.repeat(1 << 19)}:generateContent`).route)
})

t.test('a second route for the same requests is not added', async t => {
  const router = routerOf(['GET /v1/files/{id}'])
  const again = 'GET /v1/files/{name}'
  t.equal(router.add(parsePattern(again), routeAt(again, {})), false)
  t.same(outcome(router.match('GET', '/v1/files/x')), ['GET /v1/files/{id}', { id: 'x' }])
})

t.test('10,000 routes are all found, literals before parameters', async t => {
  const ids = Array.from({ length: 5000 }, (_, index) => [`GET /a/${index}/{x}`, `GET /a/{y}/b${index}`]).flat()
  const router = routerOf(ids)
  t.same(outcome(router.match('GET', '/a/77/z')), ['GET /a/77/{x}', { x: 'z' }])
  t.same(outcome(router.match('GET', '/a/zz/b4999')), ['GET /a/{y}/b4999', { y: 'zz' }])
  t.same(outcome(router.match('GET', '/a/77/b4999')), ['GET /a/77/{x}', { x: 'b4999' }])
})

t.test('a route is behind further segments too, each with parameters of its own', async t => {
  const router = new Router()
  for (const id of ['POST /mj/submit', 'GET /mj/{id}/fetch']) {
    const pattern = parsePattern(id)
    router.add(pattern, routeAt(id, {}))
    router.add(prefixed(pattern, 'fast'), routeAt(id, {}), { fixed: { mode: 'fast' } })
  }
  t.same(outcome(router.match('POST', '/mj/submit')), ['POST /mj/submit', {}])
  t.same(outcome(router.match('POST', '/fast/mj/submit')), ['POST /mj/submit', { mode: 'fast' }])
  t.same(outcome(router.match('GET', '/mj/7/fetch')), ['GET /mj/{id}/fetch', { id: '7' }])
  t.same(outcome(router.match('GET', '/fast/mj/7/fetch')), ['GET /mj/{id}/fetch', { id: '7', mode: 'fast' }])
  t.equal(outcome(router.match('GET', '/slow/mj/7/fetch')), 404)
})

t.test('a path is another route’s for requests with certain headers', async t => {
  const router = routerOf(['GET /v1/files', 'POST /v1/files', 'GET /v1/files/{id}', 'GET /v1/files/{id}/content'])
  const marked = { with: ['x-native', 'x-other'] }
  const native = (id: string, path: string): boolean =>
    router.add(parsePattern(path), routeAt(id, { errors: 'native' }), marked)
  t.ok(native('GET /beta/files', 'GET /v1/files'))
  t.ok(native('GET /beta/files/{id}', 'GET /v1/files/{id}'))
  t.ok(native('DELETE /beta/files/{id}', 'DELETE /v1/files/{id}'))
  t.ok(native('GET /beta/files/{id}:download', 'GET /v1/files/{id}:download'))
  for (const header of marked.with) {
    const shown = { [header]: 'x' }
    t.same(outcome(router.match('GET', '/v1/files', shown)), ['GET /beta/files', {}])
    t.same(outcome(router.match('GET', '/v1/files/a', shown)), ['GET /beta/files/{id}', { id: 'a' }])
    t.same(outcome(router.match('DELETE', '/v1/files/a', shown)), ['DELETE /beta/files/{id}', { id: 'a' }])
    const down = outcome(router.match('GET', '/v1/files/a:download', shown))
    t.same(down, ['GET /beta/files/{id}:download', { id: 'a' }])
    t.same(outcome(router.match('POST', '/v1/files', shown)), ['POST /v1/files', {}], 'what is not its own stays')
    t.match(router.match('PUT', '/v1/files', shown), { status: 405, allow: ['GET', 'POST'], errors: 'native' })
  }
  for (const shown of [undefined, {}, { authorization: 'x' }]) {
    t.same(outcome(router.match('GET', '/v1/files', shown)), ['GET /v1/files', {}])
    t.same(outcome(router.match('GET', '/v1/files/a', shown)), ['GET /v1/files/{id}', { id: 'a' }])
    t.same(outcome(router.match('GET', '/v1/files/a:download', shown)), ['GET /v1/files/{id}', { id: 'a:download' }])
    t.match(router.match('DELETE', '/v1/files/a', shown), { status: 405, allow: ['GET'], errors: 'compatible' })
  }
  t.match(
    router.match('OPTIONS', '/v1/files/a'),
    { status: 405, allow: ['DELETE', 'GET'] },
    'a browser may ask for both',
  )
})

t.test('a path that is only for requests with certain headers does not exist for others', async t => {
  const router = routerOf(['GET /v1/x'])
  router.add(parsePattern('GET /v1/y'), routeAt('GET /beta/y', { errors: 'native' }), { with: ['x-native'] })
  t.same(outcome(router.match('GET', '/v1/y', { 'x-native': '' })), ['GET /beta/y', {}])
  t.match(router.match('GET', '/v1/y'), { status: 404, errors: 'compatible' })
  t.match(router.match('POST', '/v1/y'), { status: 404, errors: 'compatible' })
})

t.test('two routes may share a path where their headers differ, and not else', async t => {
  const router = routerOf(['GET /x'])
  const add = (...headers: string[]): boolean =>
    router.add(parsePattern('GET /x'), routeAt('GET /y', {}), { with: headers })
  t.ok(add('a', 'b'))
  t.notOk(add('b', 'c'))
  t.ok(add('c'))
  t.notOk(add())
})
