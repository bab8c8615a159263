// Nothing but the precompiled headers of the tests.
//
// SPDX-License-Identifier: MIT
