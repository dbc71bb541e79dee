import type { Translator } from '../translate/translator.js'
import { InspectedRelay } from './relay/inspected.js'
import { openRelay } from './relay/open.js'
import type { Relay, Source } from './relay/relay.js'
import type { UpstreamHeaders } from './response-headers.js'
import type { Inspect } from './stages.js'
import { openTranslation } from './translate/open.js'

/** How the relay of an answer is opened: by its translation, and behind what a stage wants to see of it first. */
export function opening(
  attempt: Source & { readonly translator: Translator | undefined },
  status: number,
  headers: UpstreamHeaders,
  inspect: Inspect | undefined,
): () => Relay | undefined {
  const { translator } = attempt
  const open = (): Relay | undefined =>
    translator === undefined
      ? openRelay(attempt, status, headers)
      : openTranslation(attempt, translator, status, headers)
  if (inspect === undefined || status >= 300) return open
  return () => new InspectedRelay(attempt, { status, headers }, inspect, open)
}
