/** Exports the functions of JOSE that adapters use. They import this file when they sign, which a start of the dialer spares. */
export { importPKCS8, jwtVerify, SignJWT } from "jose";
