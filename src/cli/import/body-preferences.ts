import { copiedMembers } from './copies.js'
import type { Reader } from './reader.js'

/** A request body with preferences for providers: they become the model's own. */
export const bodyPreferencesReader: Reader = ({ root, draft, data, model }) => {
  for (const member of data.child('of_requests').texts()) root.child(member).take()
  const names = [root.child('model').text() ?? [], ...root.child('models').texts()].flat()
  const upstream = draft.upstream({ provider: data.child('provider').text() ?? '', at: root })
  if (upstream === undefined) return
  const kept = data
    .child('defaults')
    .texts()
    .map(member => root.child(member))
    .filter(({ exists }) => exists)
  const members = copiedMembers(kept.map(view => [String(view.path.at(-1)), view]))
  const request = members.map(member => ({ default: Object.fromEntries([member]) }))
  for (const name of names.length === 0 ? [model] : names)
    draft.addTarget(name, { upstream, ...(request.length === 0 ? {} : { request }) })
}
