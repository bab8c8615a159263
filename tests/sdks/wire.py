"""What a service writes on the wire: the body of a success, and of an error with its code.

SPDX-License-Identifier: MIT
"""

import dataclasses
import json

XML = {"content-type": "text/xml"}


@dataclasses.dataclass(frozen=True)
class Service:
    """How a service answers the operation that the drivers call."""

    weight: int  # how often sequences are about this service
    protocol: str = "json"  # json, rest-json, query, ec2, s3, rest-xml
    result: str = ""  # of XML: the name of the operation's answer


def success(service):
    """The headers and the body of a success."""
    name = service.result
    if service.protocol in ("json", "rest-json"):
        return {"content-type": "application/x-amz-json-1.1"}, "{}"
    if service.protocol == "query":
        return XML, (f"<{name}Response><{name}Result></{name}Result><ResponseMetadata>"
                     f"<RequestId>r</RequestId></ResponseMetadata></{name}Response>")
    return XML, f"<{name}><requestId>r</requestId></{name}>"


def error(service, code, rng):
    """The headers and the body of an error; `code` may be None."""
    if service.protocol == "rest-json":
        headers = {"content-type": "application/json"}
        if code is not None:
            headers["x-amzn-errortype"] = rng.choice([code, f"{code}:http://internal.amazon.com/"])
        return headers, '{"message": "it failed"}'
    if service.protocol == "json":
        body = {"message": "it failed"}
        if code is not None:
            body["__type"] = rng.choice([code, f"com.amazonaws.service#{code}"])
        return {"content-type": "application/x-amz-json-1.1"}, json.dumps(body)
    inner = f"<Code>{code}</Code>" if code is not None else ""
    inner += "<Message>it failed</Message>"
    if service.protocol == "ec2":
        return XML, (f"<Response><Errors><Error>{inner}</Error></Errors>"
                     "<RequestID>r</RequestID></Response>")
    if service.protocol == "s3":
        return XML, f"<Error>{inner}<RequestId>r</RequestId></Error>"
    return XML, (f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error>"
                 "<RequestId>r</RequestId></ErrorResponse>")
