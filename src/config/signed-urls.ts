import { DEFAULTS } from '../core/defaults.generated.js'
import { Glob } from '../core/glob.js'
import type { Secret } from '../core/secret.js'
import type { SignedUrls } from '../core/signed-url.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawSignedUrls } from './raw.generated.js'
import { quoted } from './report.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'
import { suggest } from './suggest.js'

/** Fewest characters of a secret that signs. */
const MIN_SECRET_CHARS = 32
/** Longest validity: a week, milliseconds. */
const MOST_AGE_MS = 168 * 3_600_000

/** Undefined where its secret is not there: then no address is signed. */
export function readSignedUrls(raw: RawSignedUrls, site: Site, context: Context): SignedUrls | undefined {
  const { max_age, routes } = raw
  const place = site.child('max_age')
  const maxAge = max_age === undefined ? DEFAULTS.signedUrls.max_age : readDuration(max_age, place, context)
  if (maxAge <= 0 || maxAge > MOST_AGE_MS) {
    context.report.error('bad-value', place, 'a signed URL is good for more than 0s, and for 168h at most')
  }
  const at = site.child('secret')
  const result = readSecret(raw.secret, at, context)
  if (result === 'broken') return undefined
  if ('absent' in result) {
    context.report.warn('no-secret', at, `${result.absent}, so no signed URL is taken`)
    return undefined
  }
  checkLength(result, at, context)
  return { secret: result.secret, previous: readPrevious(raw, site, context), maxAge, routes }
}

/** Secrets that signed before; those that are no longer there are left out. */
function readPrevious({ previous_secrets = [] }: RawSignedUrls, site: Site, context: Context): readonly Secret[] {
  return previous_secrets.flatMap((written, index) => {
    const at = site.child('previous_secrets', index)
    const result = readSecret(written, at, context, false)
    if (result === 'broken' || 'absent' in result) return []
    checkLength(result, at, context)
    return [result.secret]
  })
}

function checkLength({ secret, assumed }: { secret: Secret; assumed?: boolean }, at: Site, { report }: Context): void {
  if (assumed === true || secret.reveal().length >= MIN_SECRET_CHARS) return
  report.error('bad-secret', at, `a secret that signs needs at least ${MIN_SECRET_CHARS} characters`)
}

/** Warns of globs that no route fits. */
export function checkSignedUrls(
  { routes: patterns }: SignedUrls,
  routes: ReadonlyMap<string, unknown>,
  site: Site,
  { report }: Context,
): void {
  const names = [...routes.keys()]
  for (const [index, pattern] of patterns.entries()) {
    const glob = new Glob(pattern)
    if (names.some(name => glob.matches(name))) continue
    const message = `no route matches ${quoted(pattern)}, so no signed URL is taken there`
    report.warn('unknown-route', site.child('routes', index), message, { meant: () => suggest(pattern, names) })
  }
}
