import type { Upstream } from '../../core/plan.js'
import { digestOf as credentialDigest } from '../credential.js'
import { egressFacts } from '../explain/egress-facts.js'
import { boundWords } from './bound-words.js'
import type { Side } from './change.js'
import { digestOf, fromFolder, SECRET, transformWords, type Words } from './words.js'

/** What an upstream is beside the requests that it gets. */
export function upstreamWords(before: Side, after: Side): (upstream: Upstream, side: 0 | 1) => Words {
  const sides = [before, after] as const
  return (upstream, side) => {
    const { config: all, folder } = sides[side]
    const config = all.upstreams[upstream.name]
    const words = new Map(boundWords(config?.limits))
    words.set('address', config?.base ?? upstream.origin)
    const { credential: { place, ...credential } = {}, otherSecrets, previousSecrets } = config ?? {}
    if (Object.keys(credential).length > 0)
      words.set(
        SECRET,
        credentialDigest([place, credential, otherSecrets, previousSecrets], json => fromFolder(json, folder)),
      )
    const { off, region, egress } = upstream
    if (off !== undefined) words.set('off', off)
    if (region !== undefined) words.set('region', region)
    const { egress: lines = [] } = egressFacts(egress)
    if (lines.length > 0) words.set('egress', lines.join('; '))
    const files = [egress?.tls?.ca, egress?.tls?.certificate].flatMap(file => file?.content.reveal() ?? [])
    if (files.length > 0) words.set('egress.files', digestOf(files))
    if (upstream.passesUnknown) words.set('resources.unknown', 'pass')
    if (config === undefined) return words
    const { members = {}, forward, speaks, tasks } = config
    for (const [name, action] of Object.entries(members)) words.set(`members.${name}`, action)
    words.set('forward', JSON.stringify(forward))
    if (tasks.length > 0) words.set('tasks', digestOf(tasks))
    return new Map([...words, ...transformWords([['', config], ...Object.entries(speaks)])])
  }
}
