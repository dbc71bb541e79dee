import { spawnSync } from 'node:child_process'
import t from 'tap'
import { signed } from '../../src/credentials/aws/sign.js'
import { seeded } from '../helpers/random.js'

/**
 * Requests at random are signed as botocore, the signer of AWS's own command line, signs them. It comes with Debian's package
 * python3-botocore.
 */

const COUNT = 1000
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const ACCESS = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const DATE = new Date('2026-03-14T15:09:26Z')
const REGIONS = ['eu-central-1', 'us-east-1', 'ap-southeast-2', 'us-gov-west-1']
const SERVICES = ['bedrock', 'bedrock-agentcore', 'polly', 'sts', 'sagemaker', 's3']
/** What a signature adds; the last two where there is a session, and where the service asks for it. */
const ADDED = ['authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256']

const PYTHON = `
import sys, json
import datetime as real
from types import SimpleNamespace
from botocore.auth import SigV4Auth, S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
import botocore.auth as auth
now = real.datetime(2026, 3, 14, 15, 9, 26)
class Fixed(real.datetime):
    @classmethod
    def utcnow(cls): return now
    @classmethod
    def now(cls, tz=None): return now.replace(tzinfo=tz) if tz else now
class Module:
    datetime = Fixed
    timezone = real.timezone
    timedelta = real.timedelta
auth.datetime = Module if hasattr(auth.datetime, 'datetime') else Fixed
if hasattr(auth, 'get_current_datetime'): auth.get_current_datetime = lambda remove_tzinfo=True: now
for line in sys.stdin:
    one = json.loads(line)
    request = AWSRequest(method=one['method'], url=one['url'], data=bytes.fromhex(one['body']), headers=one['headers'])
    isSigned = one['payload'] == 'signed'
    request.context['payload_signing_enabled'] = isSigned
    request.context['client_config'] = SimpleNamespace(s3={'payload_signing_enabled': isSigned})
    signer = S3SigV4Auth if one['service'] == 's3' else SigV4Auth
    signer(Credentials(one['id'], one['secret'], one.get('session')), one['service'], one['region']).add_auth(request)
    print(json.dumps([request.headers.get(name) for name in ${JSON.stringify(ADDED)}]))
`

interface Wanted {
  readonly method: string
  readonly path: string
  readonly host: string
  readonly headers: Record<string, string>
  readonly body: Buffer
  readonly session: string | undefined
  readonly service: string
  readonly region: string
  readonly payload: 'signed' | 'unsigned'
}

const random = seeded(SEED)
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const LETTERS = [...'abcXYZ019-._~ :/@!$*()é漢,;=+']
const text = (most: number): string =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(LETTERS)).join('')
/** Names that objects have anyway. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty']
const encode = (value: string): string =>
  encodeURIComponent(value).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

function wanted(): Wanted {
  const segments = Array.from({ length: Math.floor(random() * 4) }, () => encode(text(12)).replace(/^\.+$/, 'dots'))
  const query = Array.from(
    { length: Math.floor(random() * 4) },
    (_, at) => `${random() < 0.2 ? pick(INHERITED) : encode(`p${at}${text(3)}`)}=${encode(text(8))}`,
  )
  const [service, region] = [pick(SERVICES), pick(REGIONS)]
  return {
    method: pick(['GET', 'POST', 'PUT', 'DELETE']),
    path: `/${segments.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`,
    host: `${service}.${region}.amazonaws.com`,
    headers: { 'content-type': pick(['application/json', 'application/x-www-form-urlencoded']), 'x-amz-target': 'A.b' },
    body: Buffer.from(text(200)),
    session: random() < 0.5 ? undefined : 'FwoGZXIvYXdzEXAMPLE',
    ...{ service, region, payload: pick(['signed', 'unsigned'] as const) },
  }
}

t.test('parameters of a client that belong to the signature are not sent', async t => {
  const scope = { service: 'bedrock', region: 'eu-west-1', payload: 'signed' } as const
  const path = '/m?a=1&__proto__=2&X-Amz-Signature=3&x-amz-date=4&b=%20'
  const request = { method: 'GET', path, headers: [], body: null }
  t.equal((await signed(request, 'aws.example', ACCESS, scope, DATE)).path, '/m?a=1&b=+')
})

const isThere = spawnSync('python3', ['-c', 'import botocore']).status === 0
if (!isThere && process.env.CI === 'true') t.fail('python3-botocore is not installed')
else if (!isThere) t.pass('python3-botocore is not installed', { skip: true })
else {
  t.test(`${COUNT} requests at random (FUZZ_SEED=${SEED}) are signed as botocore signs them`, async t => {
    const all = Array.from({ length: COUNT }, wanted)
    const lines = all.map(({ path, host, body, ...rest }) =>
      JSON.stringify({ ...rest, ...ACCESS, url: `https://${host}${path}`, body: body.toString('hex') }),
    )
    const python = spawnSync('python3', ['-c', PYTHON], { input: lines.join('\n'), encoding: 'utf8' })
    t.equal(python.status, 0, python.stderr.slice(-500))
    const theirs = python.stdout.trim().split('\n')
    t.equal(theirs.length, COUNT)
    for (const [at, { method, path, host, headers, body, session, ...scope }] of all.entries()) {
      const request = { method, path, headers: Object.entries(headers).flat(), body }
      const access = session === undefined ? ACCESS : { ...ACCESS, session }
      const given = (await signed(request, host, access, scope, DATE)).headers
      const names = given.map((one, at) => (at % 2 === 0 ? one.toLowerCase() : ''))
      const ours = ADDED.map(name => (names.includes(name) ? given[names.indexOf(name) + 1] : null))
      if (JSON.stringify(ours) !== JSON.stringify(JSON.parse(theirs[at] ?? 'null')))
        t.same(ours, JSON.parse(theirs[at] ?? 'null'), `${scope.service} ${scope.region} ${method} ${path}`)
    }
  })
}
