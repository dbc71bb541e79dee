import t from 'tap'
import { signed } from '../../src/credentials/aws/sign.js'

/** The published vectors of Signature Version 4 (aws-sig-v4-test-suite), and the example of the reference. */

const ACCESS = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const SCOPE = { service: 'service', region: 'us-east-1', payload: 'signed' } as const
const DATE = new Date('2015-08-30T12:36:00Z')
const CREDENTIAL = 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request'

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
    const at = result.headers.findIndex(one => one.toLowerCase() === 'authorization')
    t.equal(result.headers[at + 1], `${CREDENTIAL}, ${rest}`)
    t.equal(result.headers[result.headers.indexOf('x-amz-date') + 1], '20150830T123600Z')
    t.equal(result.path, path)
    t.equal(result.body, request.body)
  })
}

t.test('a session token is part of the signature', async t => {
  const request = { method: 'GET', path: '/', headers: [], body: null }
  const result = await signed(request, 'example.amazonaws.com', { ...ACCESS, session: 'the-session' }, SCOPE, DATE)
  t.match(result.headers.join(' '), /x-amz-security-token the-session/)
  t.match(result.headers.join(' '), /SignedHeaders=host;x-amz-date;x-amz-security-token/)
})
