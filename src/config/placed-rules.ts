import { placeRule } from '../core/rule-watch.js'
import type { Site } from './document.js'

/** Where a rule of a user's file is written, for those who ask which rules take effect. */
export function placeAt(site: Site, rule: object, part?: string | number): void {
  if (!site.document.shipped) placeRule(rule, site.path, part)
}
