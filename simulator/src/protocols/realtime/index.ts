import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import type { Protocol } from '../../protocol.js'

/** `WS /v1/realtime`: whoever asks for it without a WebSocket is told so. */
export const realtime: Protocol = {
  method: 'GET',
  path: '/v1/realtime',
  family: compatible,
  models: ['sim-realtime'],
  answer: () => {
    throw new SimulatorError(426, 'This endpoint is a WebSocket: ask for an upgrade.', {
      type: 'invalid_request_error',
      headers: { upgrade: 'websocket', connection: 'Upgrade' },
    })
  },
}
