import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { Secret } from '../core/secret.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { managedSecretOf } from './managed-secrets.js'
import type { RawSecret } from './raw.generated.js'
import { quoted } from './report.js'
import { looksLikeKey } from './secret-lines.js'
import { ABSENT_SECRET } from './secret-rule.js'

/** Largest secret file. */
const MAX_SECRET_FILE_BYTES = 64 * 1024

/** What a reference to a secret led to. */
type SecretResult =
  /** `file` is where it was read, absolute. */
  | { readonly secret: Secret; readonly file?: string; readonly assumed?: true }
  /** Nothing is there; the text says what: `NORTH_API_KEY is not set`. */
  | { readonly absent: string; readonly empty: boolean }
  /** There is a problem, and the report has it. */
  | 'broken'

/**
 * Reads `{ env }`, `{ file }`, or what a secret manager keeps. What is read goes into headers, so it must be printable ASCII on one line, unless its form is
 * `text`.
 */
export function readSecret(
  raw: RawSecret,
  site: Site,
  context: Context,
  needed = true,
  form: 'line' | 'text' = 'line',
): SecretResult {
  if (raw.file === undefined && /[a-z]/.test(raw.env ?? '') && looksLikeKey(raw.env ?? '')) {
    const message = 'expected the name of an environment variable, and this looks like a secret itself'
    context.report.error('literal-secret', site.child('env'), message, { secret: true })
    return 'broken'
  }
  if (context.without !== undefined && context.without.name === (raw.file ?? raw.env)) {
    const { position } = site.document.spot(site.path, 'value')
    context.without.places.push({ path: site.text, position })
    return { absent: `${context.without.name} is gone`, empty: false }
  }
  const managed = managedSecretOf(raw)
  if (typeof managed === 'string') {
    context.report.error('bad-secret', site, managed)
    return 'broken'
  }
  const result =
    managed !== undefined
      ? context.managed.want(managed, site)
      : raw.file === undefined
        ? fromVariable(raw.env ?? '', context)
        : fromFile(raw.file, site, context)
  if (result !== 'broken' && 'absent' in result && !result.empty)
    return withoutSecret(raw, result, site, needed ? context : undefined)
  if (result === 'broken' || !('secret' in result) || form === 'text') return result
  if (/^[\x20-\x7e]*$/.test(result.secret.reveal())) return result
  const holder = raw.env !== undefined ? `the variable ${raw.env}` : managed === undefined ? 'the file' : 'the manager'
  const message = `${holder} contains a line break, a control character or a non-ASCII character; a secret is one line of ASCII`
  context.report.error('bad-secret', site, message)
  return 'broken'
}

/** `context` is absent where nothing needs the secret. */
function withoutSecret(raw: RawSecret, absent: SecretResult, site: Site, context: Context | undefined): SecretResult {
  if (context === undefined || absent === 'broken' || !('absent' in absent)) return absent
  const { report, secrets } = context
  // One variable is one secret, so that two keys that share it are reported.
  if (secrets === 'assume') return { secret: new Secret(`assumed secret of ${raw.env ?? raw.file}`), assumed: true }
  if (secrets === 'require') report.error(ABSENT_SECRET, site, `this secret is missing: ${absent.absent}`)
  else if (raw.file !== undefined)
    report.warn(
      ABSENT_SECRET,
      site.child('file'),
      `there is no file ${quoted(raw.file)}, so everything that needs this secret is off`,
    )
  return absent
}

/** Lower-case hex of sha256 over the UTF-8 secret. */
export function digestOf(secret: Secret): string {
  return createHash('sha256').update(secret.reveal()).digest('hex')
}

function fromVariable(name: string, { variables }: Context): SecretResult {
  const value = variables.get(name)
  if (value === undefined) return { absent: `${name} is not set`, empty: false }
  return value.trim() === '' ? { absent: `${name} is empty`, empty: true } : { secret: new Secret(value) }
}

function fromFile(written: string, site: Site, { files, report }: Context): SecretResult {
  const file = resolve(site.document.source.folder, written)
  const result = files.read(file, MAX_SECRET_FILE_BYTES)
  if ('failure' in result) {
    if (result.failure === 'missing') return { absent: `${written} does not exist`, empty: false }
    report.error('unreadable-file', site.child('file'), `cannot read this file: ${result.reason}`)
    return 'broken'
  }
  const value = result.bytes.toString('utf8').replace(/[\r\n]+$/, '')
  return value.trim() === '' ? { absent: `${written} is empty`, empty: true } : { secret: new Secret(value), file }
}
