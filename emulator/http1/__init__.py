"""HTTP/1.1: the server beside HTTP/2 on the same port, the client towards containers, and the operations of boto3."""
