import { parseJson } from '../../core/json.js'
import { allowsMore, amountOf } from './weaker.js'

/** Values by the path of their setting; lists are JSON. */
export type Settings = ReadonlyMap<string, string>

type Value = string | undefined
type Judge = (before: Value, after: Value) => boolean

const begins: Judge = before => before === undefined
const gone: Judge = (_, after) => after === undefined
const on: Judge = (_, after) => after === 'true'
const off: Judge = before => before === 'true'
const larger: Judge = (before, after) => before !== undefined && after !== undefined && Number(after) > Number(before)
const beginsOrLarger: Judge = (before, after) => before === undefined || larger(before, after)
/** A list of what is allowed: without it, nothing is. */
const allowed: Judge = (before, after) => after !== undefined && allowsMore(listOf(before), listOf(after))
/** A list that restricts: without it, everything is allowed. */
const restricted: Judge = (before, after) =>
  before !== undefined && (after === undefined || allowsMore(listOf(before), listOf(after)))
/** A list of what is checked: without it, everything is. */
const checked: Judge = (before, after) =>
  after !== undefined && (before === undefined || allowsMore(listOf(after), listOf(before)))
const fewer: Judge = (before, after) => listOf(before).some(one => !listOf(after).includes(one))
const reachable: Judge = (before, after) =>
  after !== undefined && !LOOPBACK.test(after) && (before === undefined || LOOPBACK.test(before))
/** A bound that is gone or larger, or has another window. */
const bounded: Judge = (before, after) => {
  if (before === undefined) return false
  return after === undefined || unitOf(after) !== unitOf(before) || amountOf(after) > amountOf(before)
}

const LOOPBACK = /^(?:localhost|::1|127\..*)$/

/**
 * What lets more happen than before. A rule with a group is of something that is there before and after: what that has not any
 * more when it is gone, or has when it is new, says nothing.
 */
const RULES: readonly (readonly [RegExp, Judge])[] = [
  [/^limits\.(?!drain|keep_alive)/, larger],
  [/^checks\..+\.module$/, gone],
  [/^(checks\..+)\.(?:routes|models)$/, checked],
  [/^(checks\..+)\.when(?:\..+)?$/, (_, after) => after !== undefined],
  [/^(checks\..+)\.when_it_fails$/, before => before === 'closed'],
  [/^listen\.tls\.(?:cert|clientCa|clientCrl)\.path$/, gone],
  [/^(admin)\.tls\.cert\.path$/, gone],
  [/^(?:listen|admin)\.host$/, reachable],
  [/^listen\.(?:cors\.origins|trusted_proxies)$/, allowed],
  [/^admin\.(?:write|metrics\.open)$/, on],
  [/^admin\.oidc\.clientId$/, begins],
  [/^(admin\.oidc)\.role\.(?:map\..+|default)$/, (_, after) => after === 'admin'],
  [/^identity\.(?:providers\..+\.issuer|certificates\.name)$/, begins],
  [/^identity\.certificates\.required$/, off],
  [/^(identity\.providers\..+)\.(?:audience|algorithms|acceptIn|allow)$/, allowed],
  [/^(identity\.providers\..+)\.(?:clockSkew|introspection\.cache)$/, larger],
  [/^(identity\..+)\.caller\.terms\.(?:models|regions)\.value$/, restricted],
  [/^(identity\..+)\.caller\.terms\.(?:models|regions)\.(?:map\..+|default)$/, allowed],
  [/^(identity\..+)\.caller\.terms\.limits\..+$/, bounded],
  [/^(identity\..+)\.caller\.terms\.group\.(?:value|claim)$/, gone],
  [/^identity\.signedUrls\.maxAge$/, beginsOrLarger],
  [/^identity\.signedUrls\.routes$/, allowed],
  [/^egress\.proxy\.https?\.origin$/, gone],
  [/^(egress\.proxy)\.except$/, allowed],
  [/^egress\.tls\.ca\.path$/, gone],
  [/^egress\.tls\.minVersion$/, (before, after) => before !== undefined && (after === undefined || after < before)],
  [/^(?:media\.fetch|webhooks)\.allow$/, allowed],
  [/^(media\.fetch|webhooks)\.ports$/, allowed],
  [/^(media\.fetch|webhooks)\.region$/, (_, after) => after !== undefined],
  [/^media\.fetch\.http$/, on],
  [/^receipts\.when_full$/, before => before === 'refuse'],
  [/^unpriced$/, before => before === 'refuse'],
  [/^record\.into$/, begins],
  [/^(record)\.(?:models|keys|routes)$/, restricted],
  [/^(record)\.(?:mask|words|members)$/, fewer],
]

/** Whether a setting that says something else lets more happen than before. */
export function isWeakerSetting(path: string, before: Settings, after: Settings): boolean {
  return RULES.some(([rule, judge]) => {
    const found = rule.exec(path)
    if (found === null || !judge(before.get(path), after.get(path))) return false
    const [, holder] = found
    return holder === undefined || [before, after].every(settings => has(settings, `${holder}.`))
  })
}

function has(settings: Settings, start: string): boolean {
  for (const path of settings.keys()) if (path.startsWith(start)) return true
  return false
}

function listOf(text: Value): readonly string[] {
  const list = text === undefined ? [] : parseJson(text)
  return Array.isArray(list) ? list.map(String) : []
}

/** The window of `10/min`. */
function unitOf(text: string): string {
  return text.replace(/^[\d.]+[kM]?/, '')
}
