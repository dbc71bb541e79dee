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
const REGION = 'eu-central-1'

const PYTHON = `
import sys, json
import datetime as real
from botocore.auth import SigV4Auth
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
    SigV4Auth(Credentials(one['id'], one['secret'], one.get('session')), one['service'], '${REGION}').add_auth(request)
    print(request.headers['Authorization'])
`

interface Wanted {
  readonly method: string
  readonly path: string
  readonly host: string
  readonly headers: Record<string, string>
  readonly body: Buffer
  readonly session: string | undefined
}

const random = seeded(SEED)
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const LETTERS = [...'abcXYZ019-._~ :/@!$*()é漢,;=+']
const text = (most: number): string =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(LETTERS)).join('')
const encode = (value: string): string =>
  encodeURIComponent(value).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

function wanted(): Wanted {
  const segments = Array.from({ length: Math.floor(random() * 4) }, () => encode(text(12)).replace(/^\.+$/, 'dots'))
  const query = Array.from(
    { length: Math.floor(random() * 4) },
    (_, at) => `${encode(`p${at}${text(3)}`)}=${encode(text(8))}`,
  )
  return {
    method: pick(['GET', 'POST', 'PUT', 'DELETE']),
    path: `/${segments.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`,
    host: `${pick(['bedrock-runtime', 'polly', 'sts'])}.${REGION}.amazonaws.com`,
    headers: { 'content-type': pick(['application/json', 'application/x-www-form-urlencoded']), 'x-amz-target': 'A.b' },
    body: Buffer.from(text(200)),
    session: random() < 0.5 ? undefined : 'FwoGZXIvYXdzEXAMPLE',
  }
}

const isThere = spawnSync('python3', ['-c', 'import botocore']).status === 0
if (!isThere && process.env.CI === 'true') t.fail('python3-botocore is not installed')
else if (!isThere) t.pass('# SKIPPED: python3-botocore is not installed')
else {
  t.test(`${COUNT} requests at random (FUZZ_SEED=${SEED}) are signed as botocore signs them`, async t => {
    const all = Array.from({ length: COUNT }, wanted)
    const lines = all.map(({ method, path, host, headers, body, session }) =>
      JSON.stringify({
        ...{ method, url: `https://${host}${path}`, headers, body: body.toString('hex'), service: 'bedrock' },
        ...{ id: ACCESS.id, secret: ACCESS.secret, session },
      }),
    )
    const python = spawnSync('python3', ['-c', PYTHON], { input: lines.join('\n'), encoding: 'utf8' })
    t.equal(python.status, 0, python.stderr.slice(-500))
    const theirs = python.stdout.trim().split('\n')
    for (const [at, { method, path, host, headers, body, session }] of all.entries()) {
      const request = { method, path, headers: Object.entries(headers).flat(), body }
      const access = session === undefined ? ACCESS : { ...ACCESS, session }
      const scope = { service: 'bedrock', region: REGION, payload: 'signed' } as const
      const ours = (await signed(request, host, access, scope, DATE)).headers
      const authorization = ours[ours.findIndex(one => one.toLowerCase() === 'authorization') + 1]
      if (authorization !== theirs[at]) t.equal(authorization, theirs[at], `${method} ${path}`)
    }
    t.equal(theirs.length, COUNT)
  })
}
