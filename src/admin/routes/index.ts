import type { AdminRoute } from '../route.js'
import { config } from './config.js'
import { debugCpu, debugHeap } from './debug.js'
import { drain } from './drain.js'
import { resetFaults, showFaults, switchFaults } from './faults.js'
import { generations, rollback } from './generations.js'
import { createKey, listKeys } from './keys.js'
import { limits } from './limits.js'
import { live, request, requests, series } from './live.js'
import { changeLog, showLog } from './log.js'
import { metrics } from './metrics.js'
import { models } from './models.js'
import { beginSignIn, endSignIn } from './oidc.js'
import { changeKey, revokeKey, rotateKey, showKey } from './one-key.js'
import { openApi } from './openapi.js'
import { explain, plan } from './plan.js'
import { applyPlan, checkPlan, planFile, planVersion } from './plan-file.js'
import { playRequest } from './play.js'
import { playRealtime } from './realtime.js'
import { reload } from './reload.js'
import { restart } from './restart.js'
import { consoleLink, showSession, signInWays, startSession, stopSession } from './session.js'
import { tail } from './tail.js'
import { tasks } from './tasks.js'
import { testUpstream } from './test-call.js'
import { upstreams } from './upstreams.js'
import { usage } from './usage.js'
import { workers } from './workers.js'

const ROUTES: readonly AdminRoute[] = [
  config,
  listKeys,
  createKey,
  showKey,
  changeKey,
  revokeKey,
  rotateKey,
  models,
  upstreams,
  testUpstream,
  showFaults,
  switchFaults,
  resetFaults,
  limits,
  usage,
  tasks,
  generations,
  workers,
  reload,
  rollback,
  showLog,
  changeLog,
  restart,
  drain,
  metrics,
  tail,
  live,
  series,
  requests,
  request,
  plan,
  planFile,
  checkPlan,
  applyPlan,
  planVersion,
  explain,
  playRequest,
  playRealtime,
  showSession,
  startSession,
  stopSession,
  signInWays,
  consoleLink,
  beginSignIn,
  endSignIn,
  debugCpu,
  debugHeap,
]

/** Every endpoint of the admin API. To add one, write a file with an {@link AdminRoute}, and add it here. */
export const TABLE: readonly AdminRoute[] = [...ROUTES, openApi(ROUTES)]
