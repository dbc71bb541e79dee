import { readFileSync } from 'node:fs'

/** Whether {@link kernelHolds} can be asked here. */
export const knowsQueues = process.platform === 'linux'

/**
 * Bytes that the kernel holds of what goes from one local port to the other over IPv4 loopback: not acknowledged at its
 * sender, not read at its receiver (proc_net_tcp(5)).
 */
export function kernelHolds(from: number, to: number): number {
  let held = 0
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/)
    const [sent = 0, received = 0] = queues.split(':').map(size => Number.parseInt(size, 16))
    if (portOf(local) === from && portOf(remote) === to) held += sent
    if (portOf(local) === to && portOf(remote) === from) held += received
  }
  return held
}

function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1] ?? '', 16)
}
