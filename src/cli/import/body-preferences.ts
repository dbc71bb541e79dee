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
    .map(member => [member, root.child(member)] as const)
    .filter(([, { exists }]) => exists)
  const request = copiedMembers(kept).map(([name, value]) => ({ default: { [name]: value } }))
  for (const name of names.length === 0 ? [model] : names)
    draft.addTarget(name, { upstream, ...(request.length === 0 ? {} : { request }) })
}
