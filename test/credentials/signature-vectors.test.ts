import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { type AwsAccess, signed } from '../../src/credentials/aws/sign.js'

/**
 * The published vectors of Signature Version 4: the folder `aws-signing-test-suite/v4` of the crate aws-sigv4, which is not part of
 * this repository. `AWS_VECTORS_DIR` names it. Four of them, and the session's token, are here as well.
 */

const { AWS_VECTORS_DIR: FOLDER = '', CI } = process.env
const ACCESS = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const SCOPE = { service: 'service', region: 'us-east-1', payload: 'signed' } as const
const DATE = new Date('2015-08-30T12:36:00Z')
const CREDENTIAL = 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request'

const OTHER_HEADERS =
  'it covers headers that are neither the host, the type nor of the provider: proxies may change those'
const UNNORMALIZED =
  'it signs a path with its dots and double slashes for a service other than s3, which no such service asks for'
const ONCE = 'it encodes a path once, as s3 alone does: others encode again what is sent, as double-encode-path has it'
const LENGTH = 'it covers the length of the body, which is for the connection to give'
/** Vectors that came into the suite without a context, and the one that its own tests use for them. */
const OWN_CONTEXTS: Readonly<Record<string, Context>> = {
  'double-encode-path': {
    credentials: { access_key_id: 'ANOTREAL', secret_access_key: 'notrealrnrELgWzOk3IfjzDKtFBhDby' },
    ...{ region: 'us-east-1', service: 'service', timestamp: '2015-08-30T12:36:00Z' },
  },
  'double-url-encode': {
    credentials: { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
    ...{ region: 'us-east-2', service: 'lambda', timestamp: '2021-05-11T15:40:45Z' },
  },
}
/** Vectors that this signer does not follow, and why; what is signed for them has to differ. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'get-header-key-duplicate': OTHER_HEADERS,
  'get-header-value-multiline': OTHER_HEADERS,
  'get-header-value-order': OTHER_HEADERS,
  'get-header-value-trim': OTHER_HEADERS,
  'post-header-key-sort': OTHER_HEADERS,
  'post-header-value-case': OTHER_HEADERS,
  'get-relative-relative-unnormalized': UNNORMALIZED,
  'get-relative-unnormalized': UNNORMALIZED,
  'get-slash-dot-slash-unnormalized': UNNORMALIZED,
  'get-slash-pointless-dot-unnormalized': UNNORMALIZED,
  'get-slash-unnormalized': UNNORMALIZED,
  'get-slashes-unnormalized': UNNORMALIZED,
  'get-space-normalized': ONCE,
  'get-space-unnormalized': ONCE,
  'get-utf8': ONCE,
  'post-x-www-form-urlencoded': LENGTH,
  'post-x-www-form-urlencoded-parameters': LENGTH,
  'post-sts-header-after': 'it adds the token of the session after signing; here it is always covered',
}

interface Context {
  readonly credentials: { readonly access_key_id: string; readonly secret_access_key: string; readonly token?: string }
  readonly region: string
  readonly service: string
  readonly timestamp: string
}

interface Vector {
  readonly method: string
  readonly path: string
  readonly headers?: readonly string[]
  readonly body?: string
  /** What follows the credential. */
  readonly rest: string
}

const VECTORS: Readonly<Record<string, Vector>> = {
  'get-vanilla': {
    method: 'GET',
    path: '/',
    rest: 'SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  'get-vanilla-query-order-key-case': {
    method: 'GET',
    path: '/?Param2=value2&Param1=value1',
    rest: 'SignedHeaders=host;x-amz-date, Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  'post-vanilla': {
    method: 'POST',
    path: '/',
    rest: 'SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  'post-x-www-form-urlencoded': {
    method: 'POST',
    path: '/',
    headers: ['content-type', 'application/x-www-form-urlencoded'],
    body: 'Param1=value1',
    rest: 'SignedHeaders=content-type;host;x-amz-date, Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
}

for (const [name, { method, path, headers = [], body = '', rest }] of Object.entries(VECTORS)) {
  t.test(name, async t => {
    const request = { method, path, headers: [...headers], body: body === '' ? null : Buffer.from(body) }
    const result = await signed(request, 'example.amazonaws.com', ACCESS, SCOPE, DATE)
    t.equal(headerOf(result.headers, 'authorization'), `${CREDENTIAL}, ${rest}`)
    t.equal(headerOf(result.headers, 'x-amz-date'), '20150830T123600Z')
    t.equal(result.path, path)
    t.equal(result.body, request.body)
  })
}

t.test('a session token is part of the signature', async t => {
  const request = { method: 'GET', path: '/', headers: [], body: null }
  const session = '6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267'
  const result = await signed(request, 'example.amazonaws.com', { ...ACCESS, session }, SCOPE, DATE)
  t.equal(headerOf(result.headers, 'x-amz-security-token'), session)
  t.equal(
    headerOf(result.headers, 'authorization'),
    `${CREDENTIAL}, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8`,
  )
})

if (FOLDER !== '')
  t.test('every vector of the published suite', async t => {
    const names = readdirSync(FOLDER)
    t.ok(names.length >= 40, `${names.length} vectors`)
    t.same(
      Object.keys(LEFT_OUT).filter(name => !names.includes(name)),
      [],
    )
    for (const name of names) {
      const { ours, theirs } = await both(join(FOLDER, name))
      if (LEFT_OUT[name] === undefined) t.same(ours, theirs, name)
      else t.not(JSON.stringify(ours), JSON.stringify(theirs), `${name}: ${LEFT_OUT[name]}`)
    }
  })
else if (CI === 'true') t.fail('AWS_VECTORS_DIR does not name the published vectors')
else t.pass('AWS_VECTORS_DIR does not name the published vectors', { skip: true })

/** The headers that a signature adds, by us and in the suite. */
async function both(folder: string): Promise<{ readonly ours: object; readonly theirs: object }> {
  const given = OWN_CONTEXTS[basename(folder)] ?? (JSON.parse(read(folder, 'context.json')) as Context)
  const { credentials, region, service, timestamp } = given
  const { method, path, headers, body } = requestOf(read(folder, 'request.txt'))
  const host = headerOf(headers, 'host') ?? ''
  const access: AwsAccess = {
    ...{ id: credentials.access_key_id, secret: credentials.secret_access_key },
    ...(credentials.token === undefined ? {} : { session: credentials.token }),
  }
  // The date and the length are for the signer and the connection to give.
  const rest = without(headers, ['host', 'x-amz-date', 'content-length'])
  const request = { method, path, headers: rest, body: body === '' ? null : Buffer.from(body) }
  const result = await signed(request, host, access, { service, region, payload: 'signed' }, new Date(timestamp))
  const expected = requestOf(read(folder, 'header-signed-request.txt'))
  return { ours: addedBy(result.headers), theirs: addedBy(expected.headers) }
}

function addedBy(headers: readonly string[]): object {
  const names = ['authorization', 'x-amz-date', 'x-amz-security-token']
  return Object.fromEntries(names.map(name => [name, headerOf(headers, name)]))
}

function read(folder: string, name: string): string {
  return readFileSync(join(folder, name), 'utf8')
}

/** A request as the suite writes it: its target may hold what a client has to encode. */
function requestOf(text: string): {
  readonly method: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body: string
} {
  const [head = '', body = ''] = text.split(/\n\n/)
  const [line = '', ...lines] = head.split(/\n(?! )/)
  const [, method = '', target = ''] = /^(\S+) (.*) HTTP\/1\.1$/.exec(line) ?? []
  const path = target.replace(/[^!-~]/gu, encodeURIComponent)
  const headers = lines
    .filter(one => one !== '')
    .flatMap(one => [one.split(':')[0] ?? '', one.replace(/^[^:]*: ?/, '')])
  return { method, path, headers, body }
}

function without(headers: readonly string[], names: readonly string[]): string[] {
  return headers.filter((_, at) => !names.includes((headers[at - (at % 2)] ?? '').toLowerCase()))
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((one, at) => at % 2 === 0 && one.toLowerCase() === name)
  return at < 0 ? undefined : headers[at + 1]
}
