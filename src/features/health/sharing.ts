import { type HealthPart, isStanding, type PartStanding } from '../../core/health.js'
import { type Peers, topic } from '../../core/peers.js'
import type { Circuits } from './circuits.js'

/** A worker has learned something. */
const LEARNED = topic<PartStanding>('health: learned')
/** A worker that has just begun asks for all that the others know. */
const ALL = topic<null, readonly PartStanding[]>('health: all')

/** Tells the other workers of a gateway what this one learns, and takes over what they learn. */
export function shareWithPeers(peers: Peers, circuits: Circuits): (part: HealthPart) => void {
  if (peers.number === 0) return () => undefined
  peers.on(LEARNED, standing => circuits.merge([standing].filter(isStanding)))
  peers.on(ALL, () => circuits.snapshot())
  peers.ask(ALL, null).then(
    answers => {
      for (const { answer } of answers) circuits.merge(answer.filter(isStanding))
    },
    () => undefined,
  )
  return part => {
    const standing = circuits.standingOf(part)
    if (standing !== undefined) peers.tell(LEARNED, standing)
  }
}
